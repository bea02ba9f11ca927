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
            AND tx = pg_current_xact_id()
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

-- Nobody's word alone takes an operation out of doubt where it takes two. Looked at when the transaction commits.

-- Absent for certain, or declined: as a look-up since the last try has found it.
CREATE FUNCTION ledger_seen_not_done(operation bigint) RETURNS boolean LANGUAGE sql
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_lookup AS seen
        WHERE seen.operation_id = operation
            AND (seen.proof OR seen.verdict = 'one_match' AND seen.records @> '[{"standing": "failed"}]')
            AND NOT EXISTS (
                SELECT FROM ledger_attempt AS tried
                WHERE tried.operation_id = operation AND seen.asked_at <
                    CASE WHEN tried.started_at IS NULL THEN tried.claimed_at ELSE tried.closed_at END
            )
    )
$$;

CREATE FUNCTION ledger_operation_worded() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    limits jsonb := (SELECT review -> 'four_eyes_above' FROM ledger_operationtype WHERE id = NEW.operation_type_id);
    takes_two boolean := NEW.amount IS NOT NULL AND jsonb_typeof(limits) = 'object'
        AND coalesce(abs(NEW.amount) > (limits ->> NEW.currency)::numeric, true);
BEGIN
    IF NEW.state = 'failed' THEN
        IF NOT ledger_seen_not_done(NEW.id) AND NOT ledger_approved(NEW.id, 'override_end') THEN
            RAISE EXCEPTION 'doubt ends in failed by a look-up, or on the words of two' USING ERRCODE = 'check_violation';
        END IF;
    ELSIF takes_two AND NOT ledger_approved(NEW.id, 'attest') THEN
        RAISE EXCEPTION 'above its limit an operation is done on the words of two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER operation_worded AFTER UPDATE ON ledger_operation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (
        OLD.state = 'uncertain' AND NEW.state = 'failed'
        OR NEW.state = 'completed' AND NEW.evidence = 'attested'
            AND (OLD.state, OLD.evidence, OLD.evidence_by, OLD.destination_reference)
                IS DISTINCT FROM (NEW.state, NEW.evidence, NEW.evidence_by, NEW.destination_reference)
    ) EXECUTE FUNCTION ledger_operation_worded();
