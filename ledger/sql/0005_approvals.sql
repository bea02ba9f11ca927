-- A second person's word: asked first, answered once by an event of its own, and kept for ever.

CREATE TRIGGER approval_stays BEFORE DELETE ON ledger_approval FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER approval_no_truncate BEFORE TRUNCATE ON ledger_approval
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION ledger_approval_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.decided_at IS NOT NULL THEN
            RAISE EXCEPTION 'an approval is asked for before it is given' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.decided_at IS NOT NULL THEN
        RAISE EXCEPTION 'an approval is decided once' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.uid, OLD.operation_id, OLD.action, OLD.maker, OLD.reason, OLD.command_id, OLD.made_at, OLD.expires_at,
        OLD.payload_digest, OLD.attempt_count, OLD.lookup_id, OLD.data, OLD.meant_digest)
        IS DISTINCT FROM
       (NEW.uid, NEW.operation_id, NEW.action, NEW.maker, NEW.reason, NEW.command_id, NEW.made_at, NEW.expires_at,
        NEW.payload_digest, NEW.attempt_count, NEW.lookup_id, NEW.data, NEW.meant_digest)
       OR (NEW.meant_sealed IS NOT NULL AND NEW.meant_sealed IS DISTINCT FROM OLD.meant_sealed) THEN
        RAISE EXCEPTION 'what an approval is asked for never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER approval_once BEFORE INSERT OR UPDATE ON ledger_approval
    FOR EACH ROW EXECUTE FUNCTION ledger_approval_once();

-- Neither asked nor answered without a word: an event of the same transaction names it and who it was.
CREATE FUNCTION ledger_approval_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id = NEW.operation_id AND data->>'approval' = NEW.uid::text
            AND actor = CASE WHEN NEW.decided_at IS NULL THEN NEW.maker ELSE NEW.decided_by END
            AND age(xmin) <= 0 -- of this transaction or its savepoints
    ) THEN
        RAISE EXCEPTION 'approval % of operation % without an event', NEW.id, NEW.operation_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER approval_told AFTER INSERT OR UPDATE ON ledger_approval
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_approval_told();

-- A permit that goes against the evidence names the approval that it was given under.
CREATE FUNCTION ledger_permit_approved() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_approval
        WHERE id = NEW.approval_id AND operation_id = NEW.operation_id
            AND action = 'override_permit' AND answer = 'approved'
    ) THEN
        RAISE EXCEPTION 'a permit under an override needs its approval' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER permit_approved BEFORE INSERT ON ledger_permit
    FOR EACH ROW WHEN (NEW.approval_id IS NOT NULL) EXECUTE FUNCTION ledger_permit_approved();
