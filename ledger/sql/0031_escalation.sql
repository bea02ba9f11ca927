-- That a case went to a next level is told like any change of hands, and its mark is never taken back.
DROP TRIGGER case_told ON ledger_case;
CREATE CONSTRAINT TRIGGER case_told AFTER UPDATE ON ledger_case DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (
    (NEW.owner, NEW.assignee, NEW.due_at, NEW.snoozed_until, NEW.snoozed_revision, NEW.level, NEW.escalated_at,
        NEW.escalated_to)
    IS DISTINCT FROM (OLD.owner, OLD.assignee, OLD.due_at, OLD.snoozed_until, OLD.snoozed_revision, OLD.level,
        OLD.escalated_at, OLD.escalated_to)
) EXECUTE FUNCTION ledger_case_told();

CREATE FUNCTION ledger_case_climbs() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a case goes to its next level, one at a time, while it is open' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER case_climbs BEFORE UPDATE ON ledger_case FOR EACH ROW WHEN (
    NEW.level <> OLD.level AND (NEW.level <> OLD.level + 1 OR OLD.closed_at IS NOT NULL)
) EXECUTE FUNCTION ledger_case_climbs();

-- Neither asked, nor answered, nor past its due time without a word: an event of the same transaction names it and who.
CREATE OR REPLACE FUNCTION ledger_approval_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    whose text := CASE WHEN NEW.decided_at IS NULL THEN NEW.maker ELSE NEW.decided_by END;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.decided_at IS NULL AND NEW.escalated_at IS DISTINCT FROM OLD.escalated_at THEN
        whose := 'policy';
    END IF;
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id = NEW.operation_id AND data->>'approval' = NEW.uid::text
            AND actor = whose AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'approval % of operation % without an event', NEW.id, NEW.operation_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
