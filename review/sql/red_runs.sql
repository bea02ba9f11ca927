-- What was due and has not reported concerns whoever may run it, and the team whose differences it would have found: a notice for
-- each person, those of one reconciliation as one, and a count for the team's chat.
CREATE FUNCTION review_notice_of_red_run() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_notice AS n (person_id, kind, about, event_id)
    SELECT u.id, 'red', NEW.data ->> 'plan', NEW.id
    FROM auth_user AS u
    WHERE u.is_active AND EXISTS (
        SELECT FROM unnest(ARRAY['reviewer', 'approver', 'administrator']) AS role WHERE review_has_role(u.id, role)
    )
    ORDER BY u.id
    ON CONFLICT (person_id, kind, about) WHERE read_at IS NULL
    DO UPDATE SET count = n.count + 1, event_id = EXCLUDED.event_id, at = tieout_now();
    UPDATE review_channel SET red = red + 1
    FROM reconcile_plan AS p JOIN ledger_operationtype AS t ON t.id = p.operation_type_id
    WHERE p.name = NEW.data ->> 'plan' AND review_channel.name = 'chat:' || t.owner;
    RETURN NULL;
END $$;
CREATE TRIGGER event_red AFTER INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.kind IN ('run_not_started', 'run_incomplete', 'run_late'))
    EXECUTE FUNCTION review_notice_of_red_run();
