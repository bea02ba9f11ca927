-- Which rules: a number that the database counts with each change of a type's row, or of how its destination is reached.
-- The columns that are no rules are named by the trigger.
CREATE FUNCTION ledger_rules_counted() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF to_jsonb(NEW) - TG_ARGV IS DISTINCT FROM to_jsonb(OLD) - TG_ARGV THEN
        NEW.rules_version := OLD.rules_version + 1;
    ELSIF NEW.rules_version NOT IN (OLD.rules_version, OLD.rules_version + 1) THEN
        RAISE EXCEPTION 'versions of rules count one by one' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER type_rules_counted BEFORE UPDATE ON ledger_operationtype FOR EACH ROW
    EXECUTE FUNCTION ledger_rules_counted('rules_version', 'changed_at', 'lookup_changed_at', 'lookup_proved_at');

CREATE FUNCTION ledger_reach_counted() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE ledger_operationtype SET rules_version = rules_version + 1 WHERE destination_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER destination_counted AFTER UPDATE ON ledger_destination FOR EACH ROW
    WHEN ((OLD.connector, OLD.account, OLD.connection, OLD.entity, OLD.drills)
        IS DISTINCT FROM (NEW.connector, NEW.account, NEW.connection, NEW.entity, NEW.drills))
    EXECUTE FUNCTION ledger_reach_counted();

CREATE TRIGGER attempt_rules_stay BEFORE UPDATE OF rules_version ON ledger_attempt FOR EACH ROW
    WHEN (OLD.rules_version IS DISTINCT FROM NEW.rules_version) EXECUTE FUNCTION ledger_refuse();

-- Records that were let go count, too, and what reverses it, or what it reverses, is tied to it.
-- How many others of today, how many tied to it, what all come to with this one, and above which limit that takes two.
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
        SELECT (SELECT count(*)::integer FROM theirs) + (SELECT count(*)::integer FROM let_go) AS today, (SELECT count(*)::integer FROM linked) AS tied,
            abs(this.amount) + coalesce((SELECT sum(abs(amount)) FROM theirs), 0)
                + coalesce((SELECT sum(abs(amount)) FROM let_go), 0)
                + coalesce((SELECT sum(abs(amount)) FROM linked), 0) AS total,
            this.above, this.limits
        FROM this
    )
    SELECT today, tied, total, above,
        total IS NOT NULL AND coalesce(jsonb_typeof(limits) = 'object', false) AND coalesce(total > above, true)
    FROM added
$$;
