-- What an auditor relies on stays as it was made; a term is ended once, and otherwise ends by itself.
CREATE TRIGGER sample_stays BEFORE UPDATE OR DELETE ON review_sample FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER sample_no_truncate BEFORE TRUNCATE ON review_sample FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER access_review_stays BEFORE UPDATE OR DELETE ON review_accessreview
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER access_review_no_truncate BEFORE TRUNCATE ON review_accessreview
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER term_stays BEFORE DELETE ON review_auditorterm FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER term_no_truncate BEFORE TRUNCATE ON review_auditorterm
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE FUNCTION review_term_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL
       OR (OLD.uid, OLD.person_id, OLD.name, OLD.begins_at, OLD.ends_at, OLD.reason, OLD.given_by, OLD.given_at)
        IS DISTINCT FROM
       (NEW.uid, NEW.person_id, NEW.name, NEW.begins_at, NEW.ends_at, NEW.reason, NEW.given_by, NEW.given_at) THEN
        RAISE EXCEPTION 'a term is ended once, and never made longer' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER term_once BEFORE UPDATE ON review_auditorterm FOR EACH ROW EXECUTE FUNCTION review_term_once();
