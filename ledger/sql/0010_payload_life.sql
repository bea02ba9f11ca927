-- A payload is only ever removed, and only from what is done, cancelled or corrected: never while it could be sent.
CREATE FUNCTION ledger_operation_payload() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.payload_sealed IS NOT DISTINCT FROM OLD.payload_sealed THEN
        RETURN NEW;
    END IF;
    IF NEW.payload_sealed IS NOT NULL THEN
        RAISE EXCEPTION 'a payload never changes: it is kept, or removed' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT (
        NEW.state = 'completed' AND NEW.held_at IS NULL
        OR NEW.state IN ('completed', 'failed') AND (NEW.cancelled_at IS NOT NULL OR NEW.corrected_at IS NOT NULL)
    ) THEN
        RAISE EXCEPTION 'a payload is not removed while it could be sent' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_payload BEFORE UPDATE OF payload_sealed ON ledger_operation
    FOR EACH ROW EXECUTE FUNCTION ledger_operation_payload();
