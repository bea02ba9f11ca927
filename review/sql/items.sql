-- The queue's items, derived from the rows that the other floors write. The triggers wait for the end of the
-- transaction, when all that belongs together is there, and look only at what is or was in question: an operation that
-- goes its way without a person costs a comparison.

-- The words of what a person may hold, in small letters and without what stands between them.
CREATE FUNCTION review_words(held text) RETURNS text[] LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT array_remove(regexp_split_to_array(lower(held), '[^[:alnum:]]+'), '')
$$;

-- What is asked for: each of the words, or what begins with it; NULL, which nothing matches, without a word.
CREATE FUNCTION review_asked(asked text) RETURNS tsquery LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT string_agg(quote_literal(word) || ':*', ' & ')::tsquery FROM unnest(review_words(asked)) AS word
$$;

CREATE FUNCTION review_keep_operation(changed bigint) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_item AS item (
        operation_id, case_id, operation_type_id, state, kind, owner, verdict, amount, currency, band, size, lightness,
        since, since_s, due_at, due_s, entered_at, words
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
        o.amount, o.currency, weighed.*, o.accepted_at, extract(epoch FROM o.accepted_at),
        c.due_at, coalesce(extract(epoch FROM c.due_at)::float8, 1e18), tieout_now(),
        array_to_tsvector(review_words(concat_ws(' ', o.key, o.source_reference, o.description, o.subject,
            o.destination_reference, o.idempotency_key)))
    FROM ledger_operation AS o
    LEFT JOIN ledger_case AS c ON c.operation_id = o.id AND c.closed_at IS NULL
    CROSS JOIN LATERAL review_weighed(o.amount, o.operation_type_id) AS weighed
    WHERE o.id = changed AND (o.held_at IS NOT NULL OR o.state = 'uncertain')
    ON CONFLICT (operation_id) DO UPDATE SET
        case_id = EXCLUDED.case_id, state = EXCLUDED.state, kind = EXCLUDED.kind, owner = EXCLUDED.owner,
        verdict = EXCLUDED.verdict, due_at = EXCLUDED.due_at, due_s = EXCLUDED.due_s, words = EXCLUDED.words;
    IF NOT FOUND THEN
        DELETE FROM review_item WHERE operation_id = changed;
    END IF;
END $$;

CREATE FUNCTION review_weighed(amount numeric, type_id bigint, OUT band integer, OUT size float8, OUT lightness float8)
    LANGUAGE sql IMMUTABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN amount IS NULL THEN type_id ELSE floor(log(2, greatest(abs(amount), 0.0001))) END::integer,
        coalesce(abs(amount), 1)::float8, coalesce(-abs(amount), 1)::float8
$$;

-- A case that no operation carries is one item, however many differences are its own; its amount is theirs in the
-- currency of the first. A pause is shown elsewhere, and so are triggers that ran more than once.
CREATE FUNCTION review_keep_case(changed bigint) RETURNS void LANGUAGE plpgsql
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
        case_id, finding_id, operation_type_id, state, kind, owner, verdict, amount, currency, band, size, lightness,
        since, since_s, due_at, due_s, entered_at, words
    )
    SELECT c.id, difference.id, p.operation_type_id, '', c.kind, c.owner, '', held, difference.currency, weighed.*,
        difference.first_seen_at, extract(epoch FROM difference.first_seen_at),
        c.due_at, extract(epoch FROM c.due_at), c.opened_at, review_named(difference)
    FROM ledger_case AS c
    JOIN reconcile_run AS r ON r.id = difference.run_id
    JOIN reconcile_plan AS p ON p.id = r.plan_id
    CROSS JOIN LATERAL review_weighed(held, p.operation_type_id) AS weighed
    WHERE c.id = changed;
END $$;

-- What nobody can read has neither operation nor case, and is put right in the books themselves. Whoever comes here has
-- written the difference's own row, and so holds it: no two write its item at once.
CREATE FUNCTION review_keep_finding(changed bigint) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM review_item WHERE operation_id IS NULL AND case_id IS NULL AND finding_id = changed;
    INSERT INTO review_item (
        finding_id, operation_type_id, state, kind, owner, verdict, amount, currency, band, size, lightness,
        since, since_s, due_s, entered_at, words
    )
    SELECT f.id, p.operation_type_id, '', '', t.owner, '', f.amount, f.currency, weighed.*,
        f.first_seen_at, extract(epoch FROM f.first_seen_at), 1e18, f.first_seen_at, review_named(f)
    FROM reconcile_finding AS f
    JOIN reconcile_run AS r ON r.id = f.run_id AND NOT r.dry_run
    JOIN reconcile_plan AS p ON p.id = r.plan_id
    JOIN ledger_operationtype AS t ON t.id = p.operation_type_id
    CROSS JOIN LATERAL review_weighed(f.amount, p.operation_type_id) AS weighed
    WHERE f.id = changed AND f.operation_id IS NULL AND f.case_id IS NULL AND f.lives AND f.is_open;
END $$;

CREATE FUNCTION review_named(difference reconcile_finding) RETURNS tsvector LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT array_to_tsvector(review_words(concat_ws(' ', difference.reference, (
        SELECT string_agg(record ->> 'id', ' ') FROM jsonb_array_elements(difference.destination) AS record
    ))))
$$;

CREATE FUNCTION review_item_of_operation() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM review_keep_operation(NEW.id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER review_item_new AFTER INSERT ON ledger_operation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.held_at IS NOT NULL OR NEW.state = 'uncertain') EXECUTE FUNCTION review_item_of_operation();
CREATE CONSTRAINT TRIGGER review_item_kept AFTER UPDATE ON ledger_operation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.held_at IS NOT NULL OR NEW.state = 'uncertain' OR OLD.held_at IS NOT NULL OR OLD.state = 'uncertain')
    EXECUTE FUNCTION review_item_of_operation();

CREATE FUNCTION review_item_of_lookup() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM review_keep_operation(NEW.operation_id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER review_item_seen AFTER INSERT ON ledger_lookup DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION review_item_of_lookup();

CREATE FUNCTION review_item_of_case() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.operation_id IS NULL THEN
        PERFORM review_keep_case(NEW.id);
    ELSE
        PERFORM review_keep_operation(NEW.operation_id);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER review_item_asked AFTER INSERT OR UPDATE ON ledger_case
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION review_item_of_case();

CREATE FUNCTION review_item_of_finding() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    this reconcile_finding := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    PERFORM review_keep_finding(this.id);
    IF this.case_id IS NOT NULL THEN
        PERFORM review_keep_case(this.case_id);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER review_item_found AFTER INSERT OR UPDATE ON reconcile_finding
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.operation_id IS NULL) EXECUTE FUNCTION review_item_of_finding();
CREATE CONSTRAINT TRIGGER review_item_lost AFTER DELETE ON reconcile_finding
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.operation_id IS NULL) EXECUTE FUNCTION review_item_of_finding();

-- What is open already.
SELECT review_keep_operation(id) FROM ledger_operation WHERE held_at IS NOT NULL OR state = 'uncertain';
SELECT review_keep_case(id) FROM ledger_case WHERE operation_id IS NULL AND closed_at IS NULL;
SELECT review_keep_finding(id) FROM reconcile_finding WHERE operation_id IS NULL AND case_id IS NULL AND lives AND is_open;

CREATE FUNCTION review_item_is_derived() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the queue''s items follow from operations, cases and differences' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER item_derived BEFORE INSERT OR UPDATE OR DELETE ON review_item FOR EACH ROW
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION review_item_is_derived();
