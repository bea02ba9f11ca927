-- Two people decide only where the second one is somebody: an approval counts by an account that is there, open, and approves
-- at that moment. Who has a term as an auditor looks only, whatever their roles. After the row's own constraints, and after
-- the rule that it is another one (`ledger_answered_by_another`), have spoken. A table says how it calls that account.
CREATE FUNCTION review_approves(account integer) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM auth_user AS u
        WHERE u.id = account AND u.is_active AND review_has_role(u.id, 'approver') AND NOT EXISTS (
            SELECT FROM review_auditorterm AS t
            WHERE t.person_id = u.id AND t.ended_at IS NULL AND t.begins_at <= tieout_now() AND t.ends_at > tieout_now()
        )
    )
$$;

CREATE FUNCTION review_approved_in_role() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT review_approves((to_jsonb(NEW) ->> TG_ARGV[0])::integer) THEN
        RAISE EXCEPTION 'an approval is the word of somebody whose account is open and approves'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER approval_in_role AFTER UPDATE ON ledger_approval FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer = 'approved') EXECUTE FUNCTION review_approved_in_role('decided_by_account');
CREATE TRIGGER decision_in_role AFTER UPDATE ON reconcile_decision FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer = 'approved') EXECUTE FUNCTION review_approved_in_role('decided_by_account');
CREATE TRIGGER proposal_in_role AFTER UPDATE ON reconcile_proposal FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer = 'approved') EXECUTE FUNCTION review_approved_in_role('decided_by_account');
CREATE TRIGGER bulk_in_role AFTER UPDATE ON review_bulk FOR EACH ROW
    WHEN (OLD.approved_by = '' AND NEW.approved_by <> '') EXECUTE FUNCTION review_approved_in_role('approved_account');
