-- A limit that one person meets ten times a day is none. What one person alone has closed is written down by the database
-- as it is told, by the account of that moment, and counts beside the next: all that they closed alone of that type on the
-- same day, in the type's zone; and what anybody closed alone, on whatever day, that is tied to it: its corrections, what it
-- corrects, and what has the same source record, at the same entity. Currencies are never added to each other.

CREATE TRIGGER decidedalone_stays BEFORE UPDATE OR DELETE ON ledger_decidedalone
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER decidedalone_no_truncate BEFORE TRUNCATE ON ledger_decidedalone
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- The names of software are those of ledger/rules/actors.py, as they are written: no person has one in other letters.
CREATE FUNCTION ledger_is_person(actor text) RETURNS boolean LANGUAGE sql IMMUTABLE
    SET search_path = public, pg_temp AS $$
    SELECT actor NOT LIKE '%:%' AND actor NOT LIKE 'reconciliation %'
        AND actor NOT IN ('worker', 'policy', 'sweep', 'software', 'configure', 'issue_key', 'revoke_key', 'reconcile',
                          'command line', 'schedule', 'api', 'reconciliation', 'tieout')
$$;

-- Whether a second person has agreed in this transaction, to whatever was asked.
CREATE FUNCTION ledger_decided_by_two(operation bigint) RETURNS boolean LANGUAGE sql VOLATILE
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id = operation AND kind = 'ask_approved' AND tx = pg_current_xact_id()
    )
$$;

CREATE FUNCTION ledger_note_alone() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF ledger_is_person(NEW.actor) AND NOT ledger_decided_by_two(NEW.operation_id) AND EXISTS (
        SELECT FROM ledger_operation WHERE id = NEW.operation_id AND cancelled_at IS NULL
    ) THEN
        INSERT INTO ledger_decidedalone (operation_id, actor, account, at) VALUES (
            NEW.operation_id, NEW.actor, (SELECT id FROM auth_user WHERE username = NEW.actor), NEW.at
        );
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_alone AFTER INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.kind IN ('attested', 'ended', 'closed') AND NEW.operation_id IS NOT NULL)
    EXECUTE FUNCTION ledger_note_alone();

-- What was closed before this was written down counts, too: by the accounts that have those names now.
INSERT INTO ledger_decidedalone (operation_id, actor, account, at)
SELECT e.operation_id, e.actor, u.id, e.at
FROM ledger_event AS e JOIN ledger_operation AS o ON o.id = e.operation_id LEFT JOIN auth_user AS u ON u.username = e.actor
WHERE e.kind IN ('attested', 'ended', 'closed') AND ledger_is_person(e.actor) AND o.cancelled_at IS NULL
    AND NOT EXISTS (
        SELECT FROM ledger_event AS agreed
        WHERE agreed.operation_id = e.operation_id AND agreed.kind = 'ask_approved' AND agreed.tx = e.tx
    )
ORDER BY e.id;

-- Whose decisions are this person's: by their account, or by their name where there is none. One row for each person.
CREATE FUNCTION ledger_same_hand(person text) RETURNS TABLE (account integer, name text) LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT (SELECT id FROM auth_user WHERE username = person), person
$$;

-- How many others of today, how many tied to it, what all come to with this one, and above which limit that takes two.
CREATE FUNCTION ledger_together(operation bigint, person text)
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
    ), linked AS (
        SELECT other.id, other.amount
        FROM this JOIN ledger_operation AS other ON other.id IN (
                SELECT this.corrects_id
                UNION ALL SELECT id FROM ledger_operation WHERE corrects_id IN (this.id, this.corrects_id)
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
        SELECT (SELECT count(*)::integer FROM theirs) AS today, (SELECT count(*)::integer FROM linked) AS tied,
            abs(this.amount) + coalesce((SELECT sum(abs(amount)) FROM theirs), 0)
                + coalesce((SELECT sum(abs(amount)) FROM linked), 0) AS total,
            this.above, this.limits
        FROM this
    )
    SELECT today, tied, total, above,
        total IS NOT NULL AND coalesce(jsonb_typeof(limits) = 'object', false) AND coalesce(total > above, true)
    FROM added
$$;

-- Who closes alone at an entity does so one after the other: each sees what the one before has closed. Taken before the
-- operation's row by the actions; whoever comes by another way takes it when the transaction commits.
CREATE FUNCTION ledger_one_closes(operation bigint) RETURNS void LANGUAGE sql VOLATILE
    SET search_path = public, pg_temp AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('closes alone: ' || there.entity, 0))
    FROM ledger_operation AS o
        JOIN ledger_operationtype AS kind ON kind.id = o.operation_type_id
        JOIN ledger_destination AS there ON there.id = kind.destination_id
    WHERE o.id = operation AND jsonb_typeof(kind.review -> 'four_eyes_above') = 'object'
$$;

CREATE FUNCTION ledger_takes_two_now(operation bigint, person text) RETURNS boolean LANGUAGE plpgsql VOLATILE
    SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM ledger_one_closes(operation);
    RETURN (SELECT takes_two FROM ledger_together(operation, person));
END $$;

CREATE OR REPLACE FUNCTION ledger_operation_worded() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    closer text;
BEGIN
    IF NEW.state = 'failed' THEN
        IF NOT ledger_seen_not_done(NEW.id) AND NOT ledger_approved(NEW.id, 'override_end') THEN
            RAISE EXCEPTION 'doubt ends in failed by a look-up, or on the words of two' USING ERRCODE = 'check_violation';
        END IF;
        SELECT actor INTO closer FROM ledger_event
        WHERE operation_id = NEW.id AND kind = 'ended' AND tx = pg_current_xact_id() LIMIT 1;
        IF closer IS NOT NULL AND NOT ledger_approved(NEW.id, 'end') AND NOT ledger_approved(NEW.id, 'override_end')
           AND ledger_takes_two_now(NEW.id, closer) THEN
            RAISE EXCEPTION 'above its limit an operation is closed by two' USING ERRCODE = 'check_violation';
        END IF;
    ELSIF NOT ledger_approved(NEW.id, 'attest') AND ledger_takes_two_now(NEW.id, NEW.evidence_by) THEN
        RAISE EXCEPTION 'above its limit an operation is done on the words of two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION ledger_case_by_two() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT ledger_approved(NEW.operation_id, 'end') AND NOT ledger_approved(NEW.operation_id, 'override_end')
       AND NOT ledger_approved(NEW.operation_id, 'attest')
       AND EXISTS (SELECT FROM ledger_operation WHERE id = NEW.operation_id AND cancelled_at IS NULL)
       AND ledger_takes_two_now(NEW.operation_id, NEW.closed_by) THEN
        RAISE EXCEPTION 'above its limit a case is closed by two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
DROP FUNCTION ledger_takes_two(bigint, numeric, text);
