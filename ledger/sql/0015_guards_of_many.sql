-- What the guards ask other rows is asked once for all rows of a statement: the answer is the same, for one row and for
-- five hundred. What they set, or compare within a row, stays with each row. Other rows are asked for one by one, by
-- their index (hence each LIMIT): a plan that was made while tables were small must not read them whole later.

-- When it happened is the ledger's own word.
CREATE OR REPLACE FUNCTION ledger_event_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.at := tieout_now();
    NEW.tx := pg_current_xact_id();
    RETURN NEW;
END $$;

-- An event tells of no change that is still to come.
CREATE FUNCTION ledger_events_happened() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM made CROSS JOIN LATERAL (SELECT revision FROM ledger_operation WHERE id = made.operation_id LIMIT 1) AS o
        WHERE made.revision > o.revision
    ) THEN
        RAISE EXCEPTION 'an event tells what has happened' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER events_happened AFTER INSERT ON ledger_event REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_events_happened();

-- An attempt carries its operation's digest, and the same key while any is in doubt.
CREATE FUNCTION ledger_attempts_begin() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM made LEFT JOIN LATERAL (
            SELECT payload_digest, corrected_at FROM ledger_operation WHERE id = made.operation_id LIMIT 1
        ) AS o ON true
        WHERE (o.payload_digest = made.payload_digest AND o.corrected_at IS NULL) IS NOT TRUE
    ) THEN
        RAISE EXCEPTION 'an attempt sends what its operation says, and nothing of a corrected one' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM made CROSS JOIN LATERAL (
            SELECT FROM ledger_attempt AS other
            WHERE other.operation_id = made.operation_id AND other.idempotency_key <> made.idempotency_key
                AND (other.outcome IN ('accepted', 'succeeded', 'uncertain') OR other.worded_at IS NOT NULL)
                AND other.cleared_at IS NULL
            LIMIT 1
        ) AS doubtful
        WHERE made.number > 1
    ) THEN
        RAISE EXCEPTION 'the key stays while any attempt is in doubt' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER attempts_begin AFTER INSERT ON ledger_attempt REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_attempts_begin();
DROP TRIGGER attempt_fenced ON ledger_attempt;
CREATE TRIGGER attempt_fenced BEFORE UPDATE ON ledger_attempt
    FOR EACH ROW EXECUTE FUNCTION ledger_attempt_fenced();
