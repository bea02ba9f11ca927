-- Pauses and what they stand for only grow; a pause ends once, and no change of it is silent.
CREATE TRIGGER pause_stays BEFORE DELETE ON ledger_pause FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER refusal_stays BEFORE UPDATE OR DELETE ON ledger_refusal FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION ledger_pause_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.resumed_at IS NOT NULL OR (OLD.uid, OLD.destination_id, OLD.case_id, OLD.http_status, OLD.why, OLD.paused_at,
        OLD.callers_only)
        IS DISTINCT FROM
       (NEW.uid, NEW.destination_id, NEW.case_id, NEW.http_status, NEW.why, NEW.paused_at, NEW.callers_only) THEN
        RAISE EXCEPTION 'a pause ends once, and what it says never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pause_once BEFORE UPDATE ON ledger_pause FOR EACH ROW EXECUTE FUNCTION ledger_pause_once();

CREATE FUNCTION ledger_pause_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND data ->> 'pause' = NEW.uid::text
            AND kind = CASE WHEN NEW.resumed_at IS NULL THEN 'paused' ELSE 'resumed' END
    ) THEN
        RAISE EXCEPTION 'a destination was paused or resumed without an event' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER pause_told AFTER INSERT OR UPDATE ON ledger_pause
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_pause_told();
