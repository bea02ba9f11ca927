-- Nobody's word alone takes an operation out of doubt where it takes two. Looked at when the transaction commits.

CREATE FUNCTION ledger_approved(operation bigint, asked text) RETURNS boolean LANGUAGE sql
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_approval AS a
        JOIN ledger_event AS e ON e.operation_id = a.operation_id AND e.data ->> 'approval' = a.uid::text
        WHERE a.operation_id = operation AND a.action = asked AND a.answer = 'approved'
            AND e.kind = 'ask_approved' AND e.tx = pg_current_xact_id()
    )
$$;

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
