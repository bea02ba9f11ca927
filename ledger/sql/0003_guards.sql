-- What must never happen is refused here, whoever asks. Frozen with its migration; a test compares it with MOVES.
-- Each function names its search_path: a temporary table of the same name must not stand in for the ledger's.

CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: the ledger only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- Events: never changed, removed or truncated. Which transaction one is of is written down with it: the age of a row
-- cannot tell this transaction, and its savepoints, from another one that began later.
ALTER TABLE ledger_event ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON ledger_event
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON ledger_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- When it happened is the ledger's own word, and an event tells of no change that is still to come.
CREATE FUNCTION ledger_event_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.at := tieout_now();
    NEW.tx := pg_current_xact_id();
    IF NEW.revision > (SELECT revision FROM ledger_operation WHERE id = NEW.operation_id) THEN
        RAISE EXCEPTION 'an event tells what has happened' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_dated BEFORE INSERT ON ledger_event FOR EACH ROW EXECUTE FUNCTION ledger_event_dated();

-- The facts that events speak of stay, too.
CREATE TRIGGER operation_stays BEFORE DELETE ON ledger_operation FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER attempt_stays BEFORE DELETE ON ledger_attempt FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER case_stays BEFORE DELETE ON ledger_case FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER permit_stays BEFORE DELETE ON ledger_permit FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER lookup_stays BEFORE UPDATE OR DELETE ON ledger_lookup FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER command_stays BEFORE UPDATE OR DELETE ON ledger_command FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

-- Where it takes two people, only what was approved in this transaction counts, and nothing else than was meant.
CREATE FUNCTION ledger_approved(operation bigint, asked text, meant text DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM ledger_approval AS a
        JOIN ledger_event AS e ON e.operation_id = a.operation_id AND e.data ->> 'approval' = a.uid::text
        WHERE a.operation_id = operation AND a.action = asked AND a.answer = 'approved'
            AND (meant IS NULL OR a.meant_digest = meant)
            AND e.kind = 'ask_approved' AND e.tx = pg_current_xact_id()
    );
END $$;

CREATE FUNCTION ledger_operation_moves() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('pending', 'running') THEN
            RAISE EXCEPTION 'an operation begins pending or running, not %', NEW.state
                USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.corrects_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM ledger_operation
            WHERE id = NEW.corrects_id AND operation_type_id = NEW.operation_type_id AND corrects_id IS NULL
                AND corrected_at IS NOT NULL
        ) THEN
            RAISE EXCEPTION 'a correction stands for one operation of its type, which is no correction and stands back'
                USING ERRCODE = 'check_violation';
        END IF;
        IF EXISTS (SELECT FROM ledger_operation WHERE id = NEW.corrects_id AND state = 'uncertain')
           AND NOT ledger_approved(NEW.corrects_id, 'override_correct', NEW.payload_digest) THEN
            RAISE EXCEPTION 'what may have happened is corrected as was approved, or not at all'
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.uid, OLD.operation_type_id, OLD.key, OLD.payload_digest, OLD.amount, OLD.currency, OLD.accepted_at,
        OLD.source_system, OLD.source_reference, OLD.source_version, OLD.description, OLD.subject,
        OLD.leaf_digests, OLD.corrects_id, OLD.correction_number)
        IS DISTINCT FROM
       (NEW.uid, NEW.operation_type_id, NEW.key, NEW.payload_digest, NEW.amount, NEW.currency, NEW.accepted_at,
        NEW.source_system, NEW.source_reference, NEW.source_version, NEW.description, NEW.subject,
        NEW.leaf_digests, NEW.corrects_id, NEW.correction_number) THEN
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
    END IF;
    -- A corrected operation stays corrected and never runs again, and none is corrected while it may still happen.
    IF OLD.corrected_at IS NOT NULL AND
       (NEW.corrected_at IS DISTINCT FROM OLD.corrected_at OR NEW.state IN ('pending', 'running')) THEN
        RAISE EXCEPTION 'a corrected operation never runs again' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.corrected_at IS NULL AND NEW.corrected_at IS NOT NULL AND NEW.state NOT IN ('failed', 'completed')
       AND NOT (NEW.state = 'uncertain' AND ledger_approved(NEW.id, 'override_correct')) THEN
        RAISE EXCEPTION 'a correction waits until it is known what happened' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.revision = OLD.revision AND
       (OLD.state, OLD.attempt_count, OLD.generation, OLD.idempotency_key, OLD.contract_first, OLD.account_first,
        OLD.first_sent_at, OLD.taken_at, OLD.settles_at, OLD.held_at, OLD.cancelled_at, OLD.finished_at,
        OLD.evidence, OLD.evidence_by, OLD.destination_reference, OLD.first_cause,
        OLD.lease_until, OLD.payload_sealed, OLD.corrected_at)
        IS DISTINCT FROM
       (NEW.state, NEW.attempt_count, NEW.generation, NEW.idempotency_key, NEW.contract_first, NEW.account_first,
        NEW.first_sent_at, NEW.taken_at, NEW.settles_at, NEW.held_at, NEW.cancelled_at, NEW.finished_at,
        NEW.evidence, NEW.evidence_by, NEW.destination_reference, NEW.first_cause,
        NEW.lease_until, NEW.payload_sealed, NEW.corrected_at) THEN
        RAISE EXCEPTION 'a change of what is known counts the revision up' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.revision NOT IN (OLD.revision, OLD.revision + 1) THEN
        RAISE EXCEPTION 'the revision counts one by one' USING ERRCODE = 'check_violation';
    END IF;
    -- The window's clock is not set back: a later first send belongs to a later key.
    IF NEW.generation NOT IN (OLD.generation, OLD.generation + 1) OR (NEW.generation = OLD.generation AND (
        NEW.idempotency_key <> OLD.idempotency_key
        OR (OLD.first_sent_at IS NOT NULL AND NEW.first_sent_at IS DISTINCT FROM OLD.first_sent_at))) THEN
        RAISE EXCEPTION 'a key and its first send stay for all of its generation' USING ERRCODE = 'check_violation';
    END IF;
    -- What ran out is not revived.
    IF OLD.state = 'running' AND NEW.state = 'running' AND NEW.lease_until <> OLD.lease_until
       AND (NEW.lease_until < OLD.lease_until OR OLD.lease_until <= tieout_now()) THEN
        RAISE EXCEPTION 'a lease is only made longer, and only while it lives' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_moves BEFORE INSERT OR UPDATE ON ledger_operation
    FOR EACH ROW EXECUTE FUNCTION ledger_operation_moves();

-- Each revision has its event in the same transaction; looked at when it commits.
CREATE FUNCTION ledger_operation_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
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

-- An attempt carries its operation's digest, and the same key while any is in doubt. What it proved never changes;
-- only its absence, proved or on two people's word, is noted later; a word is no proof, so the key stays.
CREATE FUNCTION ledger_attempt_fenced() RETURNS trigger LANGUAGE plpgsql
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
CREATE TRIGGER attempt_fenced BEFORE INSERT OR UPDATE ON ledger_attempt
    FOR EACH ROW EXECUTE FUNCTION ledger_attempt_fenced();

-- Doubt is not cleared, nor taken up again, without a word: the operation has an event of the same transaction.
CREATE FUNCTION ledger_attempt_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id = NEW.operation_id AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'attempt % of operation % changed without an event', NEW.number, NEW.operation_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER attempt_told AFTER UPDATE ON ledger_attempt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((NEW.cleared_at, NEW.worded_at) IS DISTINCT FROM (OLD.cleared_at, OLD.worded_at))
    EXECUTE FUNCTION ledger_attempt_told();

-- A permit is spent or withdrawn once, and says for ever who gave it, why, and on what evidence.
CREATE FUNCTION ledger_permit_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.spent_at IS NOT NULL OR OLD.withdrawn_at IS NOT NULL THEN
        RAISE EXCEPTION 'a permit is spent or withdrawn once' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.operation_id, OLD.source, OLD.actor, OLD.reason, OLD.command_id, OLD.lookup_id, OLD.approval_id,
        OLD.given_at, OLD.effective_at, OLD.lapses_at)
        IS DISTINCT FROM
       (NEW.operation_id, NEW.source, NEW.actor, NEW.reason, NEW.command_id, NEW.lookup_id, NEW.approval_id,
        NEW.given_at, NEW.effective_at, NEW.lapses_at) THEN
        RAISE EXCEPTION 'what a permit says never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER permit_once BEFORE UPDATE ON ledger_permit FOR EACH ROW EXECUTE FUNCTION ledger_permit_once();

-- A case that was answered stays answered: a new question is a new case.
CREATE FUNCTION ledger_case_closed() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.closed_at IS NOT NULL OR (OLD.uid, OLD.operation_id, OLD.opened_at)
        IS DISTINCT FROM (NEW.uid, NEW.operation_id, NEW.opened_at) THEN
        RAISE EXCEPTION 'a closed case never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER case_closed BEFORE UPDATE ON ledger_case FOR EACH ROW EXECUTE FUNCTION ledger_case_closed();

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
