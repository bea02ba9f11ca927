-- What one person alone has settled of what a reconciliation found counts beside what they closed and let go alone, of
-- the same type, in the same currency and on the same day: a limit is met once, by whatever way.
CREATE TRIGGER settledalone_stays BEFORE UPDATE OR DELETE ON ledger_settledalone
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER settledalone_no_truncate BEFORE TRUNCATE ON ledger_settledalone
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION ledger_settledalone_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.at := tieout_now();
    NEW.account := (SELECT id FROM auth_user WHERE username = NEW.actor);
    RETURN NEW;
END $$;
CREATE TRIGGER settledalone_dated BEFORE INSERT ON ledger_settledalone
    FOR EACH ROW EXECUTE FUNCTION ledger_settledalone_dated();

CREATE FUNCTION ledger_settled_today(kind bigint, currency text, person text) RETURNS numeric LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT coalesce(sum(abs(theirs.amount)), 0) FROM (
        SELECT DISTINCT alone.id, alone.amount
        FROM ledger_operationtype AS t CROSS JOIN ledger_same_hand(person) AS hand
            JOIN ledger_settledalone AS alone ON alone.account = hand.account OR alone.actor = hand.name
        WHERE t.id = kind AND alone.operation_type_id = t.id AND alone.currency = ledger_settled_today.currency
            AND alone.at >= date_trunc('day', tieout_now() AT TIME ZONE coalesce(t.review ->> 'timezone', 'UTC'))
                AT TIME ZONE coalesce(t.review ->> 'timezone', 'UTC')
    ) AS theirs
$$;

CREATE OR REPLACE FUNCTION ledger_together(operation bigint, person text)
    RETURNS TABLE (today integer, tied integer, total numeric, above numeric, takes_two boolean) LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    WITH this AS (
        SELECT o.*, there.entity, coalesce(kind.review ->> 'timezone', 'UTC') AS zone,
            kind.review -> 'four_eyes_above' AS limits, (kind.review -> 'four_eyes_above' ->> o.currency)::numeric AS above
        FROM ledger_operation AS o
            JOIN ledger_operationtype AS kind ON kind.id = o.operation_type_id
            JOIN ledger_destination AS there ON there.id = kind.destination_id
        WHERE o.id = operation
    ), theirs AS (
        SELECT DISTINCT other.id, other.amount
        FROM this CROSS JOIN ledger_same_hand(person) AS hand
            JOIN ledger_decidedalone AS alone ON (alone.account = hand.account OR alone.actor = hand.name)
                AND alone.at >= date_trunc('day', tieout_now() AT TIME ZONE this.zone) AT TIME ZONE this.zone
            JOIN ledger_operation AS other ON other.id = alone.operation_id
        WHERE other.id <> this.id AND other.operation_type_id = this.operation_type_id
            AND other.currency = this.currency AND other.amount IS NOT NULL
    ), let_go AS (
        SELECT DISTINCT choice.id, choice.amount
        FROM this CROSS JOIN ledger_same_hand(person) AS hand
            JOIN ledger_choice AS choice ON (choice.account = hand.account OR choice.actor = hand.name)
                AND choice.made_at >= date_trunc('day', tieout_now() AT TIME ZONE this.zone) AT TIME ZONE this.zone
            JOIN ledger_operation AS other ON other.id = choice.operation_id
        WHERE choice.approval_id IS NULL AND other.operation_type_id = this.operation_type_id
            AND choice.currency = this.currency
    ), settled AS (
        SELECT DISTINCT alone.id, alone.amount
        FROM this CROSS JOIN ledger_same_hand(person) AS hand
            JOIN ledger_settledalone AS alone ON (alone.account = hand.account OR alone.actor = hand.name)
                AND alone.at >= date_trunc('day', tieout_now() AT TIME ZONE this.zone) AT TIME ZONE this.zone
        WHERE alone.operation_type_id = this.operation_type_id AND alone.currency = this.currency
    ), linked AS (
        SELECT other.id, other.amount
        FROM this JOIN ledger_operation AS other ON other.id IN (
                SELECT this.corrects_id
                UNION ALL SELECT id FROM ledger_operation WHERE corrects_id IN (this.id, this.corrects_id)
                UNION ALL SELECT this.reverses_id
                UNION ALL SELECT id FROM ledger_operation WHERE reverses_id IN (this.id, this.reverses_id)
                UNION ALL SELECT id FROM ledger_operation
                    WHERE this.source_reference <> '' AND source_system = this.source_system
                        AND source_reference = this.source_reference
            )
            JOIN ledger_operationtype AS kind ON kind.id = other.operation_type_id
            JOIN ledger_destination AS there ON there.id = kind.destination_id
        WHERE other.id <> this.id AND there.entity = this.entity
            AND other.currency = this.currency AND other.amount IS NOT NULL
            AND EXISTS (SELECT FROM ledger_decidedalone WHERE operation_id = other.id)
            AND other.id NOT IN (SELECT id FROM theirs)
    ), added AS (
        SELECT (SELECT count(*)::integer FROM theirs) + (SELECT count(*)::integer FROM let_go)
                + (SELECT count(*)::integer FROM settled) AS today,
            (SELECT count(*)::integer FROM linked) AS tied,
            abs(this.amount) + coalesce((SELECT sum(abs(amount)) FROM theirs), 0)
                + coalesce((SELECT sum(abs(amount)) FROM let_go), 0)
                + coalesce((SELECT sum(abs(amount)) FROM settled), 0)
                + coalesce((SELECT sum(abs(amount)) FROM linked), 0) AS total,
            this.above, this.limits
        FROM this
    )
    SELECT today, tied, total, above,
        total IS NOT NULL AND coalesce(jsonb_typeof(limits) = 'object', false) AND coalesce(total > above, true)
    FROM added
$$;

CREATE OR REPLACE FUNCTION ledger_choice_takes_two(operation bigint, amount numeric, currency text, person text)
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
    total := total + ledger_settled_today(kind.id, ledger_choice_takes_two.currency, person);
    RETURN coalesce(total > (limits ->> currency)::numeric, true);
END $$;

-- Whether settling that much of a type, which no operation carries, takes two: with what this person has closed, let go
-- or settled alone of it today. One after the other at an entity, as whoever closes an operation.
CREATE FUNCTION ledger_settling_takes_two(kind bigint, amount numeric, currency text, person text)
    RETURNS boolean LANGUAGE plpgsql VOLATILE
    SET search_path = public, pg_temp AS $$
DECLARE
    this ledger_operationtype := (SELECT t FROM ledger_operationtype AS t WHERE t.id = kind);
    limits jsonb := this.review -> 'four_eyes_above';
    zone text := coalesce(this.review ->> 'timezone', 'UTC');
    since timestamptz := date_trunc('day', tieout_now() AT TIME ZONE zone) AT TIME ZONE zone;
    total numeric := abs(amount);
BEGIN
    IF amount IS NULL OR jsonb_typeof(limits) IS DISTINCT FROM 'object' THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('closes alone: ' || entity, 0))
        FROM ledger_destination WHERE id = this.destination_id;
    total := total + ledger_settled_today(kind, ledger_settling_takes_two.currency, person) + coalesce((
        SELECT sum(abs(theirs.amount)) FROM (
            SELECT DISTINCT c.id, c.amount FROM ledger_choice AS c
                JOIN ledger_operation AS o ON o.id = c.operation_id
                JOIN ledger_same_hand(person) AS hand ON c.account = hand.account OR c.actor = hand.name
            WHERE c.approval_id IS NULL AND c.made_at >= since AND o.operation_type_id = kind
                AND c.currency = ledger_settling_takes_two.currency
        ) AS theirs
    ), 0) + coalesce((
        SELECT sum(abs(o.amount)) FROM (
            SELECT DISTINCT alone.operation_id FROM ledger_decidedalone AS alone
                JOIN ledger_same_hand(person) AS hand ON alone.account = hand.account OR alone.actor = hand.name
            WHERE alone.at >= since
        ) AS theirs JOIN ledger_operation AS o ON o.id = theirs.operation_id
        WHERE o.operation_type_id = kind AND o.currency = ledger_settling_takes_two.currency
    ), 0);
    RETURN coalesce(total > (limits ->> currency)::numeric, true);
END $$;
