-- A bulk action: its list is frozen once, its status moves along known ways, each move is told, and what is verified
-- names the look-up that verified it.

CREATE FUNCTION review_refuse() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: what people did stays on record', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER bulkword_stays BEFORE UPDATE OR DELETE ON review_bulkword
    FOR EACH ROW EXECUTE FUNCTION review_refuse();
CREATE TRIGGER bulkword_no_truncate BEFORE TRUNCATE ON review_bulkword
    FOR EACH STATEMENT EXECUTE FUNCTION review_refuse();
CREATE TRIGGER bulkitem_no_truncate BEFORE TRUNCATE ON review_bulkitem
    FOR EACH STATEMENT EXECUTE FUNCTION review_refuse();
CREATE TRIGGER bulk_no_truncate BEFORE TRUNCATE ON review_bulk
    FOR EACH STATEMENT EXECUTE FUNCTION review_refuse();

-- A type's limit for a currency; one without a limit of its own is always above it.
CREATE FUNCTION review_above_limit(type_id bigint, amount numeric, currency text) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT jsonb_typeof(review -> 'four_eyes_above') = 'object'
        AND coalesce(amount > (review -> 'four_eyes_above' ->> currency)::numeric, true)
    FROM ledger_operationtype WHERE id = type_id
$$;

-- Two people: where the sum of a currency is above the limit of any type in the list. A check decides nothing.
CREATE FUNCTION review_bulk_takes_two(bulk bigint) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM (
            SELECT o.currency, sum(abs(o.amount)) AS total, array_agg(DISTINCT o.operation_type_id) AS kinds
            FROM review_bulkitem AS i JOIN ledger_operation AS o ON o.id = i.operation_id
            WHERE i.bulk_id = bulk AND i.may AND o.amount IS NOT NULL GROUP BY o.currency
        ) AS sums, unnest(sums.kinds) AS kind
        WHERE review_above_limit(kind, sums.total, sums.currency)
    ) AND EXISTS (SELECT FROM review_bulk WHERE id = bulk AND action <> 'check')
$$;

CREATE FUNCTION review_account_of(name text) RETURNS integer LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$ SELECT id FROM auth_user WHERE username = name $$;

CREATE FUNCTION review_bulk_guard() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    ways CONSTANT text[] := ARRAY[
        'preview asked', 'preview running', 'asked running', 'asked cancelled', 'running paused', 'running stopped',
        'running cancelled', 'running done', 'paused running', 'paused cancelled', 'paused done', 'stopped running',
        'stopped cancelled', 'stopped done'
    ];
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status <> 'preview' THEN
            RAISE EXCEPTION 'a bulk action that was confirmed stays on record' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'preview' OR NEW.approved_by <> '' OR NEW.starts_at IS NOT NULL THEN
            RAISE EXCEPTION 'a bulk action begins as a preview' USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := review_account_of(NEW.maker);
        NEW.approved_account := NULL;
        RETURN NEW;
    END IF;
    IF (OLD.uid, OLD.action, OLD.maker, OLD.maker_account, OLD.source, OLD.picked, OLD.frozen, OLD.frozen_at)
        IS DISTINCT FROM
       (NEW.uid, NEW.action, NEW.maker, NEW.maker_account, NEW.source, NEW.picked, NEW.frozen, NEW.frozen_at)
       OR OLD.status <> 'preview' AND (OLD.reason, OLD.per_minute) IS DISTINCT FROM (NEW.reason, NEW.per_minute)
       OR OLD.approved_by <> '' AND OLD.approved_by <> NEW.approved_by
       OR OLD.asked_at <> NEW.asked_at OR OLD.starts_at <> NEW.starts_at THEN
        RAISE EXCEPTION 'what a bulk action is does not change' USING ERRCODE = 'check_violation';
    END IF;
    NEW.approved_account := CASE WHEN OLD.approved_by <> '' THEN OLD.approved_account
                                 ELSE review_account_of(NEW.approved_by) END;
    IF OLD.status = NEW.status THEN
        RETURN NEW;
    END IF;
    IF NOT (OLD.status || ' ' || NEW.status) = ANY (ways) THEN
        RAISE EXCEPTION 'a bulk action does not go from % to %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status = 'preview' AND (
        NEW.frozen <> (SELECT count(*) FROM review_bulkitem WHERE bulk_id = NEW.id)
        OR EXISTS (SELECT FROM review_bulkitem WHERE bulk_id = NEW.id AND may IS NULL)
    ) THEN
        RAISE EXCEPTION 'the list is not read to its end' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'running' AND NEW.approved_account IS NULL AND review_bulk_takes_two(NEW.id) THEN
        RAISE EXCEPTION 'above its limit a bulk action needs two people' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.approved_by = '' AND NEW.approved_by <> ''
       AND ledger_one_hand(NEW.maker_account, NEW.approved_account, NEW.frozen_at, tieout_now()) THEN
        RAISE EXCEPTION 'nobody approves what who they stand in for has asked' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.approved_by = '' AND NEW.approved_by <> '' AND NEW.asked_at <= tieout_now() - interval '1 day' THEN
        RAISE EXCEPTION 'a request that nobody answered within a day has lapsed' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'done' AND EXISTS (SELECT FROM review_bulkitem WHERE bulk_id = NEW.id AND outcome = '') THEN
        RAISE EXCEPTION 'a bulk action is done when nothing is left' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bulk_guard BEFORE INSERT OR UPDATE OR DELETE ON review_bulk
    FOR EACH ROW EXECUTE FUNCTION review_bulk_guard();

CREATE FUNCTION review_bulk_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND kind LIKE 'bulk\_%' AND data ->> 'bulk' = NEW.uid::text
            AND data ->> 'status' = NEW.status AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'bulk action % became % without an event', NEW.id, NEW.status
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER bulk_told AFTER UPDATE ON review_bulk DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION review_bulk_told();

CREATE FUNCTION review_bulkitem_guard() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    of review_bulk%ROWTYPE;
BEGIN
    SELECT * INTO of FROM review_bulk WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.bulk_id ELSE NEW.bulk_id END;
    IF TG_OP = 'DELETE' THEN
        IF of.status <> 'preview' THEN
            RAISE EXCEPTION 'an item of a confirmed bulk action stays' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF of.status <> 'preview' OR NEW.outcome <> '' OR NEW.acted_at IS NOT NULL OR NEW.number > of.frozen THEN
            RAISE EXCEPTION 'the list of a bulk action is frozen' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.bulk_id, OLD.number, OLD.operation_id) IS DISTINCT FROM (NEW.bulk_id, NEW.number, NEW.operation_id)
       OR of.status <> 'preview' AND (OLD.may, OLD.foreseen) IS DISTINCT FROM (NEW.may, NEW.foreseen) THEN
        RAISE EXCEPTION 'the list of a bulk action is frozen' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.outcome <> '' THEN
        RAISE EXCEPTION 'what came of an item is said once' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.acted_at IS NULL AND NEW.acted_at IS NOT NULL THEN
        PERFORM review_bulkitem_may_act(of, NEW);
    END IF;
    IF NEW.outcome = 'verified' AND NOT review_bulkitem_verified(of, NEW) THEN
        RAISE EXCEPTION 'an item is verified by a look-up of its own' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.outcome = 'unseen' AND (of.action = 'check' OR NEW.acted_at IS NULL OR EXISTS (
        SELECT FROM ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
        WHERE o.id = NEW.operation_id AND t.calls ? 'lookup'
    )) THEN
        RAISE EXCEPTION 'what can be looked up is not done unseen' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Acted on once, while it runs, of those that are open to it; and none after the first five before these are known.
CREATE FUNCTION review_bulkitem_may_act(of review_bulk, item review_bulkitem) RETURNS void LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF of.status <> 'running' OR of.starts_at > tieout_now() OR item.may IS NOT TRUE THEN
        RAISE EXCEPTION 'item %/% is not to be acted on', of.id, item.number USING ERRCODE = 'check_violation';
    END IF;
    IF NOT item.canary AND (
        (SELECT count(*) FROM review_bulkitem WHERE bulk_id = of.id AND canary) < 5
        OR EXISTS (SELECT FROM review_bulkitem WHERE bulk_id = of.id AND canary AND outcome = '')
    ) THEN
        RAISE EXCEPTION 'the first five of bulk action % are not known yet', of.id USING ERRCODE = 'check_violation';
    END IF;
    IF item.canary AND (SELECT count(*) FROM review_bulkitem WHERE bulk_id = of.id AND canary AND id <> item.id) >= 5 THEN
        RAISE EXCEPTION 'bulk action % has its first five', of.id USING ERRCODE = 'check_violation';
    END IF;
END $$;

-- By a look-up of that operation, made since the bulk action took effect, that found what the action comes to: sent, it is
-- there; closed, it is not, or was declined there; checked, either.
CREATE FUNCTION review_bulkitem_verified(of review_bulk, item review_bulkitem) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_lookup AS l
        WHERE l.id = item.seen_id AND l.operation_id = item.operation_id AND l.asked_at >= of.starts_at
            AND (l.verdict = 'absent' AND of.action <> 'send_again'
                OR l.verdict = 'one_match'
                    AND (of.action <> 'did_not_happen' OR l.records @> '[{"standing": "failed"}]'))
    )
$$;

CREATE TRIGGER bulkitem_guard BEFORE INSERT OR UPDATE OR DELETE ON review_bulkitem
    FOR EACH ROW EXECUTE FUNCTION review_bulkitem_guard();
