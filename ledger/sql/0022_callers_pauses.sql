-- Whom a pause stops is a part of what it says.
CREATE OR REPLACE FUNCTION ledger_pause_once() RETURNS trigger LANGUAGE plpgsql
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
