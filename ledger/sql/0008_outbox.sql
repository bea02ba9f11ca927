-- The outbox: whoever wants to be told of an event gets a row of its own with it, in the same transaction, whatever
-- statement wrote it. Where nobody wants to know, that costs one look into a table that is empty.
CREATE FUNCTION ledger_event_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    what text := CASE
        WHEN NEW.state_to = 'completed' THEN 'operation.completed'
        WHEN NEW.kind = 'held' THEN 'operation.held'
        WHEN NEW.kind = 'corrected' THEN 'operation.corrected'
        ELSE 'permit.open'
    END;
    given uuid := CASE WHEN what = 'permit.open' THEN (NEW.data ->> 'permit')::uuid END;
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_webhook) THEN
        RETURN NULL;
    END IF;
    INSERT INTO ledger_delivery (uid, webhook_id, event_id, operation_id, kind, state, due_at, tries, words)
    SELECT gen_random_uuid(), w.id, NEW.id, o.id, what, 'waiting',
        -- A permit is told once it is in effect: until then it may be taken back.
        coalesce((SELECT effective_at FROM ledger_permit WHERE uid = given), NEW.at), 0, ''
    FROM ledger_webhook AS w, ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
    WHERE o.id = NEW.operation_id AND w.events ? what
        AND (w.types = '[]'::jsonb OR w.types ? t.name)
        AND (what <> 'permit.open' OR t.performed_by = 'caller');
    RETURN NULL;
END $$;
CREATE TRIGGER event_told AFTER INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.operation_id IS NOT NULL
        AND (NEW.state_to = 'completed' OR NEW.kind IN ('held', 'corrected', 'permitted')))
    EXECUTE FUNCTION ledger_event_told();

-- What was to be told stays on record, and of what it told never changes.
CREATE TRIGGER delivery_stays BEFORE DELETE ON ledger_delivery FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER delivery_no_truncate BEFORE TRUNCATE ON ledger_delivery
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE FUNCTION ledger_delivery_same() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF (OLD.uid, OLD.webhook_id, OLD.event_id, OLD.operation_id, OLD.kind, OLD.made_at)
        IS DISTINCT FROM (NEW.uid, NEW.webhook_id, NEW.event_id, NEW.operation_id, NEW.kind, NEW.made_at) THEN
        RAISE EXCEPTION 'what a delivery tells never changes' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER delivery_same BEFORE UPDATE ON ledger_delivery FOR EACH ROW EXECUTE FUNCTION ledger_delivery_same();
