-- What must never happen is refused here, whoever asks. Frozen with its migration; a test compares it with MOVES.

CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: the ledger only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- Events: never changed, removed or truncated.
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON ledger_event
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON ledger_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- The facts that events speak of stay, too.
CREATE TRIGGER operation_stays BEFORE DELETE ON ledger_operation FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER attempt_stays BEFORE DELETE ON ledger_attempt FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER permit_stays BEFORE DELETE ON ledger_permit FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER lookup_stays BEFORE UPDATE OR DELETE ON ledger_lookup FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER command_stays BEFORE UPDATE OR DELETE ON ledger_command FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION ledger_operation_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('pending', 'running') THEN
            RAISE EXCEPTION 'an operation begins pending or running, not %', NEW.state
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.uid, OLD.operation_type_id, OLD.key, OLD.payload_digest, OLD.amount, OLD.currency, OLD.accepted_at)
        IS DISTINCT FROM
       (NEW.uid, NEW.operation_type_id, NEW.key, NEW.payload_digest, NEW.amount, NEW.currency, NEW.accepted_at) THEN
        RAISE EXCEPTION 'what an operation is never changes: a correction is a new operation'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state <> OLD.state THEN
        IF (OLD.state, NEW.state) NOT IN (
            ('completed', 'uncertain'),
            ('failed', 'running'), ('failed', 'uncertain'),
            ('pending', 'failed'), ('pending', 'running'),
            ('running', 'completed'), ('running', 'failed'), ('running', 'pending'), ('running', 'uncertain'),
            ('uncertain', 'completed'), ('uncertain', 'failed'), ('uncertain', 'pending'), ('uncertain', 'running')
        ) THEN
            RAISE EXCEPTION 'no move leads from % to %', OLD.state, NEW.state USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.revision = OLD.revision THEN
            RAISE EXCEPTION 'a move counts the revision up' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_moves BEFORE INSERT OR UPDATE ON ledger_operation
    FOR EACH ROW EXECUTE FUNCTION ledger_operation_moves();

-- Each revision has its event in the same transaction; looked at when it commits.
CREATE FUNCTION ledger_operation_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_event WHERE operation_id = NEW.id AND revision = NEW.revision) THEN
        RAISE EXCEPTION 'operation % changed without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER operation_told_new AFTER INSERT ON ledger_operation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_operation_told();
CREATE CONSTRAINT TRIGGER operation_told AFTER UPDATE ON ledger_operation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.revision <> OLD.revision)
    EXECUTE FUNCTION ledger_operation_told();

-- An attempt carries its operation's digest, and what it proved never changes.
CREATE FUNCTION ledger_attempt_fenced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed_at IS NOT NULL AND (OLD.outcome, OLD.closed_at) IS DISTINCT FROM (NEW.outcome, NEW.closed_at) THEN
        RAISE EXCEPTION 'the outcome of a closed attempt never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.operation_id, OLD.number, OLD.idempotency_key, OLD.payload_digest)
        IS DISTINCT FROM (NEW.operation_id, NEW.number, NEW.idempotency_key, NEW.payload_digest) THEN
        RAISE EXCEPTION 'what an attempt sends never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER attempt_fenced BEFORE UPDATE ON ledger_attempt
    FOR EACH ROW EXECUTE FUNCTION ledger_attempt_fenced();
