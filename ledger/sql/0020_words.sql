-- Two people's word that a try did nothing is no proof: the key stays, and neither word nor proof is noted in silence.
CREATE OR REPLACE FUNCTION ledger_attempt_fenced() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT EXISTS (
            SELECT FROM ledger_operation
            WHERE id = NEW.operation_id AND payload_digest = NEW.payload_digest AND corrected_at IS NULL
        ) THEN
            RAISE EXCEPTION 'an attempt sends what its operation says, and nothing of a corrected one' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.number > 1 AND EXISTS (
            SELECT FROM ledger_attempt
            WHERE operation_id = NEW.operation_id AND idempotency_key <> NEW.idempotency_key
                AND (outcome IN ('accepted', 'succeeded', 'uncertain') OR worded_at IS NOT NULL)
                AND cleared_at IS NULL
        ) THEN
            RAISE EXCEPTION 'the key stays while any attempt is in doubt' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.closed_at IS NOT NULL AND
       (OLD.outcome, OLD.closed_at, OLD.lease_until, OLD.started_at, OLD.sender_ended_at, OLD.http_status, OLD.error_code,
        OLD.message, OLD.destination_reference, OLD.replayed, OLD.token_hash)
        IS DISTINCT FROM
       (NEW.outcome, NEW.closed_at, NEW.lease_until, NEW.started_at, NEW.sender_ended_at, NEW.http_status, NEW.error_code,
        NEW.message, NEW.destination_reference, NEW.replayed, NEW.token_hash) THEN
        RAISE EXCEPTION 'the outcome of a closed attempt never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.operation_id, OLD.number, OLD.idempotency_key, OLD.payload_digest, OLD.actor, OLD.claimed_at)
        IS DISTINCT FROM
       (NEW.operation_id, NEW.number, NEW.idempotency_key, NEW.payload_digest, NEW.actor, NEW.claimed_at)
       OR (OLD.started_at IS NOT NULL AND NEW.started_at IS DISTINCT FROM OLD.started_at) THEN
        RAISE EXCEPTION 'what an attempt sends never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER attempt_told ON ledger_attempt;
CREATE CONSTRAINT TRIGGER attempt_told AFTER UPDATE ON ledger_attempt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((NEW.cleared_at, NEW.worded_at) IS DISTINCT FROM (OLD.cleared_at, OLD.worded_at))
    EXECUTE FUNCTION ledger_attempt_told();
