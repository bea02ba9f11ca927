-- Alike notices are one only within one legal entity: who is limited to some reads a count of theirs, and no other.

-- The entity of an operation, or of a case that has none: that of its destination, or of what it stands for.
CREATE FUNCTION review_entity_of(operation bigint, its_case text) RETURNS text LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT d.entity FROM ledger_destination AS d WHERE d.id = CASE WHEN operation IS NOT NULL THEN (
        SELECT t.destination_id FROM ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
        WHERE o.id = operation
    ) ELSE (
        SELECT COALESCE(
            c.destination_id,
            (SELECT p.destination_id FROM ledger_pause AS p WHERE p.case_id = c.id),
            (SELECT t.destination_id FROM reconcile_repeat AS r
                JOIN ledger_operationtype AS t ON t.id = r.operation_type_id WHERE r.case_id = c.id LIMIT 1),
            (SELECT t.destination_id FROM reconcile_finding AS f JOIN reconcile_run AS r ON r.id = f.run_id
                JOIN reconcile_plan AS p ON p.id = r.plan_id
                JOIN ledger_operationtype AS t ON t.id = p.operation_type_id WHERE f.case_id = c.id LIMIT 1)
        ) FROM ledger_case AS c WHERE c.uid = its_case::uuid
    ) END
$$;

CREATE OR REPLACE FUNCTION review_notice_of_event() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    given boolean := NEW.kind IN ('assigned', 'handed_over');
    what text := CASE
        WHEN given THEN 'given' WHEN NEW.kind = 'commented' THEN 'named'
        WHEN NEW.data ? 'approval' THEN 'overdue' ELSE 'escalated' END;
    apart text := ' ' || md5(COALESCE(review_entity_of(NEW.operation_id, NEW.data ->> 'case'), ''));
    concerns text := CASE what
        WHEN 'given' THEN NEW.kind || ' ' || md5(NEW.actor || ' ' || NEW.reason) || apart
        WHEN 'named' THEN NEW.operation_id::text
        ELSE (NEW.data ->> 'to') || apart END;
BEGIN
    INSERT INTO review_notice AS n (person_id, kind, about, event_id)
    SELECT u.id, what, concerns, NEW.id
    FROM auth_user AS u
    WHERE u.is_active AND u.username <> NEW.actor AND CASE what
        WHEN 'given' THEN u.username = NEW.data ->> 'to'
        WHEN 'named' THEN u.username IN (
            SELECT rtrim(named[1], '.') FROM regexp_matches(NEW.reason, '(?:^|[^[:alnum:]_.+-])@([[:alnum:]_.+-]+)', 'g') AS named
        )
        ELSE EXISTS (
            SELECT FROM auth_user_groups AS m JOIN auth_group AS g ON g.id = m.group_id
            WHERE m.user_id = u.id AND g.name = review_group_of(NEW.data ->> 'to')
        ) END
        -- Who asked cannot answer their own request.
        AND NOT (what = 'overdue' AND EXISTS (
            SELECT FROM ledger_approval AS a
            WHERE a.uid = (NEW.data ->> 'approval')::uuid AND (a.maker = u.username OR a.maker_account = u.id)
        ))
    ORDER BY u.id
    ON CONFLICT (person_id, kind, about) WHERE read_at IS NULL
    DO UPDATE SET count = n.count + 1, event_id = EXCLUDED.event_id, at = tieout_now();
    IF what = 'escalated' THEN
        UPDATE review_channel SET pending = pending + 1 WHERE name = 'chat:' || (NEW.data ->> 'to');
    END IF;
    RETURN NULL;
END $$;

-- What was given up is known for as long as what was told.
DROP TRIGGER message_stays ON review_message;
CREATE TRIGGER message_stays BEFORE DELETE ON review_message FOR EACH ROW
    WHEN (OLD.state = 'waiting') EXECUTE FUNCTION review_message_same();
