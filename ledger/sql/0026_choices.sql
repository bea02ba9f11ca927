-- Which of several is kept, is said once and stays; what is kept is never reversed, and nothing else than was chosen is.
CREATE TRIGGER choice_stays BEFORE UPDATE OR DELETE ON ledger_choice FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER choice_no_truncate BEFORE TRUNCATE ON ledger_choice
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- Whether letting go that much takes two: with all that this person has let go, or closed, alone of that type today.
CREATE FUNCTION ledger_choice_takes_two(operation bigint, amount numeric, currency text, person text)
    RETURNS boolean LANGUAGE plpgsql VOLATILE
    SET search_path = public, pg_temp AS $$
DECLARE
    kind ledger_operationtype := (
        SELECT t FROM ledger_operationtype AS t JOIN ledger_operation AS o ON o.operation_type_id = t.id
        WHERE o.id = operation
    );
    limits jsonb := kind.review -> 'four_eyes_above';
    zone text := coalesce(kind.review ->> 'timezone', 'UTC');
    since timestamptz := date_trunc('day', tieout_now() AT TIME ZONE zone) AT TIME ZONE zone;
    total numeric := abs(amount);
BEGIN
    IF amount IS NULL OR jsonb_typeof(limits) IS DISTINCT FROM 'object' THEN
        RETURN false;
    END IF;
    PERFORM ledger_one_closes(operation);
    total := total + coalesce((
        SELECT sum(abs(theirs.amount)) FROM (
            SELECT DISTINCT c.id, c.amount FROM ledger_choice AS c
                JOIN ledger_operation AS o ON o.id = c.operation_id
                JOIN ledger_same_hand(person) AS hand ON c.account = hand.account OR c.actor = hand.name
            WHERE c.approval_id IS NULL AND c.made_at >= since AND o.operation_type_id = kind.id
                AND c.currency = ledger_choice_takes_two.currency
        ) AS theirs
    ), 0) + coalesce((
        SELECT sum(abs(o.amount)) FROM (
            SELECT DISTINCT alone.operation_id FROM ledger_decidedalone AS alone
                JOIN ledger_same_hand(person) AS hand ON alone.account = hand.account OR alone.actor = hand.name
            WHERE alone.at >= since
        ) AS theirs JOIN ledger_operation AS o ON o.id = theirs.operation_id
        WHERE o.operation_type_id = kind.id AND o.currency = ledger_choice_takes_two.currency
    ), 0);
    RETURN coalesce(total > (limits ->> currency)::numeric, true);
END $$;

CREATE FUNCTION ledger_choice_made() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF jsonb_typeof(NEW.reversed) <> 'array' OR jsonb_array_length(NEW.reversed) = 0 OR NEW.reversed ? NEW.kept THEN
        RAISE EXCEPTION 'one is kept, and others are reversed' USING ERRCODE = 'check_violation';
    END IF;
    -- Doubt is not ended by standing back: what that may have reversed is not kept, either. What was reversed and stands
    -- again by a check was answered when its reversal stood back.
    IF EXISTS (
        SELECT FROM ledger_operation
        WHERE reverses_id = NEW.operation_id AND reversed_reference = NEW.kept
            AND (state IN ('running', 'uncertain') OR state = 'completed' AND corrected_at IS NULL)
    ) THEN
        RAISE EXCEPTION 'what is reversed, or may be, is not kept' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT ledger_approved(NEW.operation_id, 'choose')
       AND ledger_choice_takes_two(NEW.operation_id, NEW.amount, NEW.currency, NEW.actor) THEN
        RAISE EXCEPTION 'above its limit records are reversed by two' USING ERRCODE = 'check_violation';
    END IF;
    NEW.account := (SELECT id FROM auth_user WHERE username = NEW.actor);
    RETURN NEW;
END $$;
CREATE TRIGGER choice_made BEFORE INSERT ON ledger_choice FOR EACH ROW EXECUTE FUNCTION ledger_choice_made();

-- A reversal is of a record that the latest choice lets go; so it is when it is made, and whenever a try of it begins.
CREATE FUNCTION ledger_operation_reverses() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.reverses_id, OLD.reversed_reference)
        IS DISTINCT FROM (NEW.reverses_id, NEW.reversed_reference) THEN
        RAISE EXCEPTION 'what an operation reverses never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'INSERT' AND NOT EXISTS (
        SELECT FROM ledger_operation AS o JOIN ledger_operationtype AS kind ON kind.id = NEW.operation_type_id
        WHERE o.id = NEW.reverses_id AND kind.reverses_id = o.operation_type_id
            AND NEW.reversed_reference <> '' AND NEW.corrects_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a reversal is of a type that reverses what its operation made' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.state = 'running' AND OLD.state <> 'running') THEN
        IF NOT coalesce((
            SELECT kept <> NEW.reversed_reference AND reversed ? NEW.reversed_reference FROM ledger_choice
            WHERE operation_id = NEW.reverses_id ORDER BY id DESC LIMIT 1
        ), false) THEN
            RAISE EXCEPTION 'only what was chosen to go is reversed' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_reverses BEFORE INSERT ON ledger_operation FOR EACH ROW
    WHEN (NEW.reverses_id IS NOT NULL OR NEW.reversed_reference <> '') EXECUTE FUNCTION ledger_operation_reverses();
CREATE TRIGGER operation_reverses_one BEFORE UPDATE ON ledger_operation FOR EACH ROW
    WHEN (OLD.reverses_id IS NOT NULL OR NEW.reverses_id IS NOT NULL) EXECUTE FUNCTION ledger_operation_reverses();
