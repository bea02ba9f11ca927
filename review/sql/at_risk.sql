-- The money at risk of an item: not what was meant, but what is at stake. Of several, all that stands there beyond the one
-- that counts, and what that one differs by; where it differs in its amount alone, the difference; of what was reversed in
-- part, what is left; else the whole amount.

CREATE FUNCTION review_apart(record jsonb, meant numeric) RETURNS numeric LANGUAGE sql IMMUTABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN record -> 'differs' ?| ARRAY['currency', 'status'] THEN abs(meant)
        WHEN record -> 'differs' ? 'amount' THEN abs((record ->> 'amount')::numeric - meant) END
$$;

-- Whether something is left of a record that stands no longer: its reversal from here is done, and it is listed with less
-- than that came to. What is listed as nothing, or as it was, is all reversed; as in `left_of`.
CREATE FUNCTION review_remains(operation bigint, record jsonb) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_operation AS o
        WHERE o.reverses_id = operation AND o.reversed_reference = record ->> 'id' AND o.state = 'completed'
            AND o.corrected_at IS NULL AND o.currency = record ->> 'currency'
            AND abs((record ->> 'amount')::numeric) < abs(o.amount)
            AND sign((record ->> 'amount')::numeric) = sign(o.amount)
    )
$$;

-- By the latest check that could look, unless a try was still at it or came later. Of several the operation's own record
-- counts, else the earliest, as in a run. What names no amount, or another currency, is one too many as it was meant:
-- nothing is converted.
CREATE FUNCTION review_at_risk(operation bigint, meant numeric, meant_in text, known_as text)
    RETURNS numeric LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN meant IS NOT NULL THEN coalesce((
        SELECT CASE found.verdict
            WHEN 'several' THEN sum(CASE WHEN one.place > 1 OR one.remains THEN one.held ELSE one.apart END)
                FILTER (WHERE one.stands OR one.remains)
            WHEN 'differs' THEN (array_agg(one.apart ORDER BY one.stands DESC, one.place))[1]
                + CASE WHEN bool_or(one.stands) THEN coalesce(sum(one.held) FILTER (WHERE one.remains), 0) ELSE 0 END
            WHEN 'one_match' THEN sum(one.held) FILTER (WHERE one.remains) END
        FROM (
            SELECT l.verdict, l.records
            FROM ledger_lookup AS l
            WHERE l.operation_id = operation AND l.verdict <> 'could_not_look' AND NOT EXISTS (
                SELECT FROM ledger_attempt AS a
                WHERE a.operation_id = operation AND CASE
                    WHEN a.started_at IS NULL THEN a.claimed_at > l.asked_at
                    ELSE a.closed_at IS NULL OR a.closed_at > l.asked_at END
            )
            ORDER BY l.asked_at DESC, l.id DESC
            LIMIT 1
        ) AS found
        CROSS JOIN LATERAL (
            SELECT record ->> 'standing' IN ('done', 'pending') AS stands,
                CASE WHEN record ->> 'currency' IN ('', meant_in)
                    THEN abs(coalesce((record ->> 'amount')::numeric, meant)) ELSE abs(meant) END AS held,
                review_apart(record, meant) AS apart,
                record ->> 'standing' NOT IN ('done', 'pending') AND review_remains(operation, record) AS remains,
                row_number() OVER (PARTITION BY record ->> 'standing' IN ('done', 'pending')
                    ORDER BY (record ->> 'id' = known_as) DESC, (record ->> 'occurred_at')::timestamptz, number
                ) AS place
            FROM jsonb_array_elements(found.records) WITH ORDINALITY AS told (record, number)
        ) AS one
        GROUP BY found.verdict
    ), abs(meant)) END
$$;

CREATE OR REPLACE FUNCTION review_keep_operation(changed bigint) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_item AS item (
        operation_id, case_id, operation_type_id, state, kind, owner, verdict, amount, currency, at_risk, band, size,
        lightness, since, since_s, due_at, due_s, entered_at, words
    )
    SELECT o.id, c.id, o.operation_type_id, o.state, coalesce(c.kind, ''), coalesce(c.owner, ''),
        -- The latest check, unless a try was still at it or came later.
        coalesce((
            SELECT l.verdict
            FROM ledger_lookup AS l
            WHERE l.operation_id = o.id AND NOT EXISTS (
                SELECT FROM ledger_attempt AS a
                WHERE a.operation_id = o.id AND CASE
                    WHEN a.started_at IS NULL THEN a.claimed_at > l.asked_at
                    ELSE a.closed_at IS NULL OR a.closed_at > l.asked_at END
            )
            ORDER BY l.asked_at DESC, l.id DESC
            LIMIT 1
        ), ''),
        o.amount, o.currency, risk.amount, weighed.band, weighed.size, plain.lightness, o.accepted_at,
        extract(epoch FROM o.accepted_at),
        c.due_at, coalesce(extract(epoch FROM c.due_at)::float8, 1e18), tieout_now(),
        array_to_tsvector(review_words(concat_ws(' ', o.key, o.source_reference, o.description, o.subject,
            o.destination_reference, o.idempotency_key)))
    FROM ledger_operation AS o
    LEFT JOIN ledger_case AS c ON c.operation_id = o.id AND c.closed_at IS NULL
    -- What reverses a surplus is at stake where the surplus is; by itself it is only put in its place.
    CROSS JOIN LATERAL (SELECT CASE WHEN o.reverses_id IS NULL
        THEN review_at_risk(o.id, o.amount, o.currency, o.destination_reference) END AS amount) AS risk
    CROSS JOIN LATERAL review_weighed(coalesce(risk.amount, o.amount), o.operation_type_id) AS weighed
    CROSS JOIN LATERAL review_weighed(o.amount, o.operation_type_id) AS plain
    WHERE o.id = changed AND (o.held_at IS NOT NULL OR o.state = 'uncertain')
    ON CONFLICT (operation_id) DO UPDATE SET
        case_id = EXCLUDED.case_id, state = EXCLUDED.state, kind = EXCLUDED.kind, owner = EXCLUDED.owner,
        verdict = EXCLUDED.verdict, at_risk = EXCLUDED.at_risk, band = EXCLUDED.band, size = EXCLUDED.size,
        due_at = EXCLUDED.due_at, due_s = EXCLUDED.due_s, words = EXCLUDED.words;
    IF NOT FOUND THEN
        DELETE FROM review_item WHERE operation_id = changed;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION review_keep_case(changed bigint) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    difference reconcile_finding;
    held numeric;
BEGIN
    -- A run changes a case's differences without its row, and people the row alone: one writes its item after the other.
    PERFORM FROM ledger_case WHERE id = changed FOR NO KEY UPDATE;
    DELETE FROM review_item WHERE operation_id IS NULL AND case_id = changed;
    SELECT f.* INTO difference
    FROM reconcile_finding AS f
    JOIN ledger_case AS c ON c.id = f.case_id
    WHERE f.case_id = changed AND c.closed_at IS NULL AND c.operation_id IS NULL AND f.operation_id IS NULL
    ORDER BY f.lives DESC, f.run_id DESC, f.item_class = 'duplicate_at_destination', f.id
    LIMIT 1;
    IF difference.id IS NULL THEN
        RETURN;
    END IF;
    SELECT sum(abs(f.amount)) INTO held
    FROM reconcile_finding AS f
    WHERE f.case_id = changed AND f.run_id = difference.run_id AND f.lives = difference.lives
        AND f.currency = difference.currency;
    INSERT INTO review_item (
        case_id, finding_id, operation_type_id, state, kind, owner, verdict, amount, currency, at_risk, band,
        size, lightness, since, since_s, due_at, due_s, entered_at, words
    )
    SELECT c.id, difference.id, p.operation_type_id, '', c.kind, c.owner, '', held, difference.currency, held, weighed.*,
        difference.first_seen_at, extract(epoch FROM difference.first_seen_at),
        c.due_at, extract(epoch FROM c.due_at), c.opened_at, review_named(difference)
    FROM ledger_case AS c
    JOIN reconcile_run AS r ON r.id = difference.run_id
    JOIN reconcile_plan AS p ON p.id = r.plan_id
    CROSS JOIN LATERAL review_weighed(held, p.operation_type_id) AS weighed
    WHERE c.id = changed;
END $$;

CREATE OR REPLACE FUNCTION review_keep_finding(changed bigint) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM review_item WHERE operation_id IS NULL AND case_id IS NULL AND finding_id = changed;
    INSERT INTO review_item (
        finding_id, operation_type_id, state, kind, owner, verdict, amount, currency, at_risk, band, size,
        lightness, since, since_s, due_s, entered_at, words
    )
    SELECT f.id, p.operation_type_id, '', '', t.owner, '', f.amount, f.currency, abs(f.amount), weighed.*,
        f.first_seen_at, extract(epoch FROM f.first_seen_at), 1e18, f.first_seen_at, review_named(f)
    FROM reconcile_finding AS f
    JOIN reconcile_run AS r ON r.id = f.run_id AND NOT r.dry_run
    JOIN reconcile_plan AS p ON p.id = r.plan_id
    JOIN ledger_operationtype AS t ON t.id = p.operation_type_id
    CROSS JOIN LATERAL review_weighed(f.amount, p.operation_type_id) AS weighed
    WHERE f.id = changed AND f.operation_id IS NULL AND f.case_id IS NULL AND f.lives AND f.is_open;
END $$;

-- What stands there already. Nobody else writes items: the guard that says so steps aside for it.
ALTER TABLE review_item DISABLE TRIGGER item_derived;
UPDATE review_item SET at_risk = abs(amount) WHERE operation_id IS NULL;
SELECT count(review_keep_operation(operation_id)) FROM review_item WHERE operation_id IS NOT NULL;
ALTER TABLE review_item ENABLE TRIGGER item_derived;
