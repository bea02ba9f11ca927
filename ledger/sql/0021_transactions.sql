-- Which transaction an event is of is written down with it: the age of a row cannot tell this transaction, and its
-- savepoints, from another one that began later.
ALTER TABLE ledger_event ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id();

CREATE OR REPLACE FUNCTION ledger_event_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.at := tieout_now();
    NEW.tx := pg_current_xact_id();
    IF NEW.revision > (SELECT revision FROM ledger_operation WHERE id = NEW.operation_id) THEN
        RAISE EXCEPTION 'an event tells what has happened' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION ledger_correction_approved(original bigint, meant text) RETURNS boolean LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM ledger_approval AS a
        JOIN ledger_event AS e ON e.operation_id = a.operation_id AND e.data ->> 'approval' = a.uid::text
        WHERE a.operation_id = original AND a.action = 'override_correct' AND a.answer = 'approved'
            AND (meant IS NULL OR a.meant_digest = meant)
            AND e.kind = 'ask_approved' AND e.tx = pg_current_xact_id()
    );
END $$;

CREATE OR REPLACE FUNCTION ledger_operation_moves() RETURNS trigger LANGUAGE plpgsql
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
           AND NOT ledger_correction_approved(NEW.corrects_id, NEW.payload_digest) THEN
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
       AND NOT (NEW.state = 'uncertain' AND ledger_correction_approved(NEW.id, NULL)) THEN
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

CREATE OR REPLACE FUNCTION ledger_attempt_told() RETURNS trigger LANGUAGE plpgsql
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

CREATE OR REPLACE FUNCTION ledger_approval_told() RETURNS trigger LANGUAGE plpgsql
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
