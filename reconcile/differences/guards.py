"""What the database refuses about decisions on differences, as SQL; frozen with its migration."""

GUARDS = """
CREATE TRIGGER decision_stays BEFORE DELETE ON reconcile_decision
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER decision_no_truncate BEFORE TRUNCATE ON reconcile_decision
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION reconcile_decision_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT ledger_is_person(NEW.maker) THEN
            RAISE EXCEPTION 'a person decides about a difference' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.decided_at IS NOT NULL OR NEW.ended_at IS NOT NULL THEN
            RAISE EXCEPTION 'a decision is made before it is answered' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (
            SELECT FROM reconcile_finding AS f
                JOIN reconcile_run AS r ON r.id = f.run_id JOIN reconcile_plan AS p ON p.id = r.plan_id
            WHERE f.id = NEW.finding_id AND p.id = NEW.plan_id AND p.operation_type_id = NEW.operation_type_id
                AND f.item_class = NEW.item_class AND f.fingerprint = NEW.fingerprint
                AND coalesce(nullif(f.reference, ''), f.fingerprint) = NEW.name
                AND f.amount IS NOT DISTINCT FROM NEW.amount AND f.currency = NEW.currency
                AND (NEW.way <> 'match' OR f.operation_id = NEW.operation_id)
        ) THEN
            RAISE EXCEPTION 'a decision is about what was found' USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := (SELECT id FROM auth_user WHERE username = NEW.maker);
        NEW.decided_by_account := NULL;
        IF NEW.in_force_at IS NOT NULL THEN
            -- A match is a word for its operation, which has that guard of its own.
            IF NEW.way <> 'match'
               AND ledger_settling_takes_two(NEW.operation_type_id, NEW.amount, NEW.currency, NEW.maker) THEN
                RAISE EXCEPTION 'above its limit a difference is settled by two'
                    USING ERRCODE = 'check_violation';
            END IF;
            IF NEW.way <> 'match' AND NEW.amount IS NOT NULL THEN
                INSERT INTO ledger_settledalone (operation_type_id, actor, amount, currency)
                VALUES (NEW.operation_type_id, NEW.maker, NEW.amount, NEW.currency);
            END IF;
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.uid, OLD.finding_id, OLD.plan_id, OLD.operation_type_id, OLD.name, OLD.item_class,
        OLD.fingerprint, OLD.way, OLD.amount, OLD.currency, OLD.until, OLD.maker, OLD.maker_account,
        OLD.reason, OLD.command_id, OLD.made_at, OLD.expires_at, OLD.other_id, OLD.record, OLD.approval_id)
        IS DISTINCT FROM
       (NEW.uid, NEW.finding_id, NEW.plan_id, NEW.operation_type_id, NEW.name, NEW.item_class,
        NEW.fingerprint, NEW.way, NEW.amount, NEW.currency, NEW.until, NEW.maker, NEW.maker_account,
        NEW.reason, NEW.command_id, NEW.made_at, NEW.expires_at, NEW.other_id, NEW.record, NEW.approval_id)
       OR (OLD.operation_id IS NOT NULL AND NEW.operation_id IS DISTINCT FROM OLD.operation_id) THEN
        RAISE EXCEPTION 'what is decided never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.answer, OLD.decided_at, OLD.decided_by, OLD.why) IS DISTINCT FROM
       (NEW.answer, NEW.decided_at, NEW.decided_by, NEW.why) THEN
        IF OLD.decided_at IS NOT NULL OR OLD.in_force_at IS NOT NULL THEN
            RAISE EXCEPTION 'a decision is answered once' USING ERRCODE = 'check_violation';
        END IF;
        NEW.decided_by_account := (SELECT id FROM auth_user WHERE username = NEW.decided_by);
        IF NEW.answer = 'approved'
           AND ledger_one_hand(NEW.maker_account, NEW.decided_by_account, OLD.made_at, NEW.decided_at) THEN
            RAISE EXCEPTION 'nobody approves what who they stand in for has asked'
                USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF OLD.in_force_at IS DISTINCT FROM NEW.in_force_at
       AND (OLD.in_force_at IS NOT NULL OR NEW.answer <> 'approved') THEN
        RAISE EXCEPTION 'what was asked is carried out once, when it is approved'
            USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.ended_at IS NOT NULL AND (OLD.ended_at, OLD.ended_by, OLD.why_ended) IS DISTINCT FROM
       (NEW.ended_at, NEW.ended_by, NEW.why_ended) THEN
        RAISE EXCEPTION 'a decision ends once' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decision_once BEFORE INSERT OR UPDATE ON reconcile_decision
    FOR EACH ROW EXECUTE FUNCTION reconcile_decision_once();

CREATE FUNCTION reconcile_decision_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND data->>'decision' = NEW.uid::text AND tx = pg_current_xact_id()
            AND actor = coalesce(nullif(NEW.ended_by, ''), nullif(NEW.decided_by, ''), NEW.maker)
    ) THEN
        RAISE EXCEPTION 'decision % without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER decision_told AFTER INSERT OR UPDATE ON reconcile_decision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reconcile_decision_told();

-- A case that no operation carries answers what a reconciliation found: who closes it has decided about that.
CREATE FUNCTION reconcile_case_decided() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF ledger_is_person(NEW.closed_by) AND EXISTS (
        SELECT FROM reconcile_finding AS f JOIN reconcile_run AS r ON r.id = f.run_id
        WHERE f.case_id = NEW.id AND f.lives AND NOT EXISTS (
            SELECT FROM reconcile_decision AS d
            WHERE d.plan_id = r.plan_id AND d.item_class = f.item_class AND d.fingerprint = f.fingerprint
                AND d.name = coalesce(nullif(f.reference, ''), f.fingerprint)
                AND d.in_force_at IS NOT NULL AND d.way IN ('close', 'take_in')
                AND EXISTS (
                    SELECT FROM ledger_event
                    WHERE operation_id IS NULL AND data->>'decision' = d.uid::text
                        AND tx = pg_current_xact_id()
                )
        )
    ) THEN
        RAISE EXCEPTION 'a difference is closed by a decision about it' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER case_decided AFTER UPDATE ON ledger_case DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL AND NEW.operation_id IS NULL)
    EXECUTE FUNCTION reconcile_case_decided();
"""

MATCHED_ONCE = """
-- Two differences of a match are decided about by one decision that stands, whichever of the two it names.
-- Who comes second waits here for the first, whatever they have locked before.
CREATE FUNCTION reconcile_matched_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM reconcile_finding WHERE id IN (NEW.finding_id, NEW.other_id) ORDER BY id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM reconcile_decision AS d
            JOIN reconcile_finding AS mine ON mine.id IN (NEW.finding_id, NEW.other_id)
            JOIN reconcile_finding AS theirs ON theirs.id IN (d.finding_id, d.other_id)
        WHERE d.plan_id = NEW.plan_id AND d.id <> NEW.id
            AND d.ended_at IS NULL AND d.answer IN ('', 'approved')
            AND (NEW.other_id IS NOT NULL OR d.other_id IS NOT NULL)
            AND mine.item_class = theirs.item_class
            AND coalesce(nullif(mine.reference, ''), mine.fingerprint)
                = coalesce(nullif(theirs.reference, ''), theirs.fingerprint)
    ) THEN
        RAISE EXCEPTION 'a decision stands about one of the two already' USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER decision_matched_once AFTER INSERT ON reconcile_decision
    FOR EACH ROW EXECUTE FUNCTION reconcile_matched_once();
"""
MATCHED_OFTEN = """
DROP TRIGGER decision_matched_once ON reconcile_decision;
DROP FUNCTION reconcile_matched_once();
"""
