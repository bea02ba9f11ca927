-- That an attempt has its operation, and an event its operation and its attempt, the guards prove for all rows of a
-- statement at once: a foreign key would ask again for each row, and lock what it points to. What is pointed to stays: it
-- is never deleted, nor truncated, keeps its id, and no row points elsewhere later.
CREATE OR REPLACE FUNCTION ledger_events_happened() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM made LEFT JOIN LATERAL (
            SELECT revision FROM ledger_operation WHERE id = made.operation_id LIMIT 1
        ) AS o ON true
        WHERE made.operation_id IS NOT NULL AND (o.revision IS NULL OR made.revision > o.revision)
    ) THEN
        RAISE EXCEPTION 'an event tells what has happened' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM made LEFT JOIN LATERAL (
            SELECT operation_id FROM ledger_attempt WHERE id = made.attempt_id LIMIT 1
        ) AS tried ON true
        -- What is told of a pause has an attempt and no operation.
        WHERE made.attempt_id IS NOT NULL AND (tried.operation_id IS NULL OR tried.operation_id <> made.operation_id)
    ) THEN
        RAISE EXCEPTION 'an event names an attempt of its operation' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER operation_no_truncate BEFORE TRUNCATE ON ledger_operation
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE OR REPLACE TRIGGER attempt_no_truncate BEFORE TRUNCATE ON ledger_attempt
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE OR REPLACE TRIGGER operation_keeps_its_id BEFORE UPDATE OF id ON ledger_operation
    FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION ledger_refuse();
CREATE OR REPLACE TRIGGER attempt_keeps_its_id BEFORE UPDATE OF id ON ledger_attempt
    FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION ledger_refuse();
