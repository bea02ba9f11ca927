-- Whose a case is, and until when it is put off, never changes without a word of who did it and why.
CREATE FUNCTION ledger_case_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    -- The operation's own events are found by an index, and so are those of none: two questions, not one.
    told boolean := CASE WHEN NEW.operation_id IS NULL THEN EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND tx = pg_current_xact_id() AND data ->> 'case' = NEW.uid::text
    ) ELSE EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id = NEW.operation_id AND tx = pg_current_xact_id() AND data ->> 'case' = NEW.uid::text
    ) END;
BEGIN
    IF NOT told THEN
        RAISE EXCEPTION 'case % changed hands without an event', NEW.uid USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER case_told AFTER UPDATE ON ledger_case DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (
    (NEW.owner, NEW.assignee, NEW.due_at, NEW.snoozed_until, NEW.snoozed_revision)
    IS DISTINCT FROM (OLD.owner, OLD.assignee, OLD.due_at, OLD.snoozed_until, OLD.snoozed_revision)
) EXECUTE FUNCTION ledger_case_told();
