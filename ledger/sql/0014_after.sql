-- What an operation comes after: itself, or the correction that stands in its place now.
CREATE FUNCTION ledger_first(first bigint) RETURNS bigint LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN corrected_at IS NULL THEN id ELSE COALESCE((
        SELECT id FROM ledger_operation WHERE corrects_id = COALESCE(named.corrects_id, named.id) AND corrected_at IS NULL
    ), id) END
    FROM ledger_operation AS named WHERE id = first
$$;

-- What it comes after was there before it, at the same destination, and stays what it is: so no circle can close.
CREATE FUNCTION ledger_operation_follows() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    length integer;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'what an operation comes after never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.after_id >= NEW.id OR NOT EXISTS (
        SELECT FROM ledger_operation AS first
            JOIN ledger_operationtype AS theirs ON theirs.id = first.operation_type_id
            JOIN ledger_operationtype AS ours ON ours.id = NEW.operation_type_id
        WHERE first.id = NEW.after_id AND theirs.destination_id = ours.destination_id
    ) THEN
        RAISE EXCEPTION 'an operation comes after an earlier one at its destination' USING ERRCODE = 'check_violation';
    END IF;
    WITH RECURSIVE chain AS (
        SELECT NEW.after_id AS id, 2 AS length
        UNION ALL
        SELECT o.after_id, chain.length + 1
        FROM chain JOIN ledger_operation AS o ON o.id = chain.id
        WHERE o.after_id IS NOT NULL AND chain.length <= 20
    )
    SELECT max(chain.length) INTO length FROM chain;
    IF length > 20 THEN
        RAISE EXCEPTION 'at most 20 operations come one after the other' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_follows BEFORE INSERT ON ledger_operation FOR EACH ROW
    WHEN (NEW.after_id IS NOT NULL) EXECUTE FUNCTION ledger_operation_follows();
CREATE TRIGGER operation_follows_one BEFORE UPDATE ON ledger_operation FOR EACH ROW
    WHEN (NEW.after_id IS DISTINCT FROM OLD.after_id) EXECUTE FUNCTION ledger_operation_follows();

-- Nobody holds a try of it unless what it comes after is done and asks for no person; and the try names that one's
-- reference, which stays what it is while any try is in doubt.
CREATE FUNCTION ledger_operation_goes_after() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.state = 'running' AND (TG_OP = 'INSERT' OR OLD.state <> 'running') AND NOT EXISTS (
        SELECT FROM ledger_operation
        WHERE id = ledger_first(NEW.after_id) AND state = 'completed' AND held_at IS NULL
            AND destination_reference = NEW.after_reference
    ) THEN
        RAISE EXCEPTION 'what it comes after is not done' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.after_reference <> OLD.after_reference AND (
        NEW.state <> 'running' OR OLD.state = 'running' OR EXISTS (
            SELECT FROM ledger_attempt
            WHERE operation_id = NEW.id AND cleared_at IS NULL
                AND (outcome IN ('accepted', 'succeeded', 'uncertain') OR worded_at IS NOT NULL)
        )
    ) THEN
        RAISE EXCEPTION 'what it was sent after stays while any attempt is in doubt' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operation_goes_after BEFORE INSERT OR UPDATE ON ledger_operation FOR EACH ROW
    WHEN (NEW.after_id IS NOT NULL) EXECUTE FUNCTION ledger_operation_goes_after();
