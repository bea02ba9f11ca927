-- Maker is not checker, whatever the two are called by then: an account can be given another name, its number stays. Who
-- asked, and who answered, is looked up by the name of that moment, for whoever writes the row.
CREATE OR REPLACE FUNCTION ledger_approval_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.decided_at IS NOT NULL THEN
            RAISE EXCEPTION 'an approval is asked for before it is given' USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := ledger_account_of(NEW.maker, NEW.data);
        NEW.decided_by_account := NULL;
        RETURN NEW;
    END IF;
    IF OLD.decided_at IS NOT NULL THEN
        RAISE EXCEPTION 'an approval is decided once' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.uid, OLD.operation_id, OLD.action, OLD.maker, OLD.reason, OLD.command_id, OLD.made_at, OLD.expires_at,
        OLD.payload_digest, OLD.attempt_count, OLD.lookup_id, OLD.data, OLD.meant_digest, OLD.maker_account)
        IS DISTINCT FROM
       (NEW.uid, NEW.operation_id, NEW.action, NEW.maker, NEW.reason, NEW.command_id, NEW.made_at, NEW.expires_at,
        NEW.payload_digest, NEW.attempt_count, NEW.lookup_id, NEW.data, NEW.meant_digest, NEW.maker_account)
       OR (NEW.meant_sealed IS NOT NULL AND NEW.meant_sealed IS DISTINCT FROM OLD.meant_sealed) THEN
        RAISE EXCEPTION 'what an approval is asked for never changes' USING ERRCODE = 'check_violation';
    END IF;
    NEW.decided_by_account := (SELECT id FROM auth_user WHERE username = NEW.decided_by);
    RETURN NEW;
END $$;

-- An automation has no account; it may say for whom it asks, and that one does not answer either.
CREATE FUNCTION ledger_account_of(maker text, data jsonb) RETURNS integer LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT id FROM auth_user
    WHERE username = maker OR maker LIKE 'api:%' AND lower(username) = lower(data ->> 'who')
    ORDER BY username = (data ->> 'who') DESC LIMIT 1
$$;

-- What is open now was asked under the names of now. Nothing that is answered is touched.
ALTER TABLE ledger_approval DISABLE TRIGGER USER;
UPDATE ledger_approval SET maker_account = ledger_account_of(maker, data) WHERE decided_at IS NULL;
ALTER TABLE ledger_approval ENABLE TRIGGER USER;

-- Closing for good above the limit takes two, also where a look-up proves that it did not happen. Software closes on that
-- proof alone; a person does so by an event and under their name, and both need what a second one has approved.
CREATE FUNCTION ledger_takes_two(type_id bigint, amount numeric, currency text) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT amount IS NOT NULL AND jsonb_typeof(review -> 'four_eyes_above') = 'object'
        AND coalesce(abs(amount) > (review -> 'four_eyes_above' ->> currency)::numeric, true)
    FROM ledger_operationtype WHERE id = type_id
$$;

CREATE OR REPLACE FUNCTION ledger_operation_worded() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    takes_two boolean := ledger_takes_two(NEW.operation_type_id, NEW.amount, NEW.currency);
BEGIN
    IF NEW.state = 'failed' THEN
        IF NOT ledger_seen_not_done(NEW.id) AND NOT ledger_approved(NEW.id, 'override_end') THEN
            RAISE EXCEPTION 'doubt ends in failed by a look-up, or on the words of two' USING ERRCODE = 'check_violation';
        END IF;
        IF takes_two AND NOT ledger_approved(NEW.id, 'end') AND NOT ledger_approved(NEW.id, 'override_end')
           AND EXISTS (
                SELECT FROM ledger_event
                WHERE operation_id = NEW.id AND kind = 'ended' AND tx = pg_current_xact_id()
           ) THEN
            RAISE EXCEPTION 'above its limit an operation is closed by two' USING ERRCODE = 'check_violation';
        END IF;
    ELSIF takes_two AND NOT ledger_approved(NEW.id, 'attest') THEN
        RAISE EXCEPTION 'above its limit an operation is done on the words of two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION ledger_case_by_two() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM ledger_operation AS o
        WHERE o.id = NEW.operation_id AND o.cancelled_at IS NULL
            AND ledger_takes_two(o.operation_type_id, o.amount, o.currency)
            AND NOT ledger_approved(o.id, 'end') AND NOT ledger_approved(o.id, 'override_end')
            AND NOT ledger_approved(o.id, 'attest')
    ) THEN
        RAISE EXCEPTION 'above its limit a case is closed by two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- The names of software are those of ledger/rules/actors.py.
CREATE CONSTRAINT TRIGGER case_by_two AFTER UPDATE ON ledger_case DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (
    OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL AND NEW.operation_id IS NOT NULL
    AND NEW.closed_by NOT LIKE '%:%' AND NEW.closed_by NOT LIKE 'reconciliation%'
    AND NEW.closed_by NOT IN ('worker', 'policy', 'sweep', 'software', 'configure', 'issue_key', 'revoke_key', 'reconcile',
                              'command line', 'schedule', 'api', 'tieout')
) EXECUTE FUNCTION ledger_case_by_two();
