-- A list is whole from its first moment to its last, so that its counts add up in every moment: it is written with as
-- many items as it says, numbered from one, and an item goes only with its list.

CREATE FUNCTION review_bulk_whole() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM review_bulk WHERE id = NEW.id)
       AND NEW.frozen <> (SELECT count(*) FROM review_bulkitem WHERE bulk_id = NEW.id) THEN
        RAISE EXCEPTION 'bulk action % says % items and is written with others', NEW.id, NEW.frozen
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER bulk_whole AFTER INSERT ON review_bulk DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION review_bulk_whole();

CREATE OR REPLACE FUNCTION review_bulkitem_guard() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    of review_bulk%ROWTYPE;
BEGIN
    SELECT * INTO of FROM review_bulk WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.bulk_id ELSE NEW.bulk_id END;
    IF TG_OP = 'DELETE' THEN
        IF FOUND THEN
            RAISE EXCEPTION 'an item of a bulk action stays as long as its list' USING ERRCODE = 'restrict_violation';
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
