-- What is prepared to be signed is told of as other requests are: who could answer, where it is past its due time; who
-- prepared it, what came of it.
CREATE OR REPLACE FUNCTION review_asked(said jsonb)
    RETURNS TABLE (maker text, account integer, about integer, since timestamptz, told_with text) LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT a.maker, a.maker_account, NULL::integer, a.made_at, review_entity_of(a.operation_id, NULL)
    FROM ledger_approval AS a WHERE a.uid = (said ->> 'approval')::uuid
    UNION ALL
    SELECT p.maker, p.maker_account, p.about_account, p.made_at, 'proposal'
    FROM reconcile_proposal AS p WHERE p.uid = (said ->> 'proposal')::uuid
    UNION ALL
    -- What its operation's own request answers is told by that.
    SELECT d.maker, d.maker_account, NULL, d.made_at, there.entity
    FROM reconcile_decision AS d JOIN ledger_operationtype AS t ON t.id = d.operation_type_id
        JOIN ledger_destination AS there ON there.id = t.destination_id
    WHERE d.uid = (said ->> 'decision')::uuid AND d.approval_id IS NULL
    UNION ALL
    SELECT s.maker, s.maker_account, NULL, s.made_at, there.entity
    FROM reconcile_signoff AS s JOIN ledger_operationtype AS t ON t.id = s.operation_type_id
        JOIN ledger_destination AS there ON there.id = t.destination_id
    WHERE s.uid = (said ->> 'signoff')::uuid
    UNION ALL
    SELECT b.maker, b.maker_account, NULL, b.frozen_at, 'list ' || b.uid FROM review_bulk AS b WHERE b.uid = (said ->> 'bulk')::uuid
$$;

CREATE OR REPLACE FUNCTION review_notice_of_event() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    what text := CASE
        WHEN NEW.kind IN ('assigned', 'handed_over') THEN 'given' WHEN NEW.kind = 'commented' THEN 'named'
        WHEN NEW.kind <> 'escalated' THEN 'answered'
        WHEN NEW.data ?| ARRAY['approval', 'proposal', 'decision', 'bulk', 'signoff'] THEN 'overdue' ELSE 'escalated' END;
    apart text := ' ' || md5(COALESCE(
        CASE WHEN what IN ('answered', 'overdue') THEN (SELECT a.told_with FROM review_asked(NEW.data) AS a)
             ELSE review_entity_of(NEW.operation_id, NEW.data ->> 'case') END, ''));
    concerns text := CASE what
        WHEN 'given' THEN NEW.kind || ' ' || md5(NEW.actor || ' ' || NEW.reason) || apart
        WHEN 'named' THEN NEW.operation_id::text
        WHEN 'answered' THEN split_part(NEW.kind, '_', 2) || ' ' || md5(NEW.actor) || apart
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
        WHEN 'answered' THEN EXISTS (
            SELECT FROM review_asked(NEW.data) AS a
            WHERE ledger_is_person(a.maker) AND (a.account = u.id OR a.account IS NULL AND a.maker = u.username)
        )
        ELSE review_has_role(u.id, review_group_of(NEW.data ->> 'to')) END
        -- Neither who asked, nor one hand with them, nor whom it is about can answer it.
        AND NOT (what = 'overdue' AND EXISTS (
            SELECT FROM review_asked(NEW.data) AS a
            WHERE a.maker = u.username OR u.id IN (a.account, a.about) OR ledger_one_hand(u.id, a.account, a.since, tieout_now())
        ))
    ORDER BY u.id
    ON CONFLICT (person_id, kind, about) WHERE read_at IS NULL
    DO UPDATE SET count = n.count + 1, event_id = EXCLUDED.event_id, at = tieout_now();
    IF what = 'escalated' THEN
        UPDATE review_channel SET pending = pending + 1 WHERE name = 'chat:' || (NEW.data ->> 'to');
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER event_noticed ON ledger_event;
CREATE TRIGGER event_noticed AFTER INSERT ON ledger_event FOR EACH ROW WHEN (NEW.kind IN (
    'assigned', 'handed_over', 'commented', 'escalated',
    'ask_approved', 'ask_refused', 'ask_voided', 'ask_lapsed',
    'proposal_approved', 'proposal_refused', 'proposal_voided', 'proposal_lapsed',
    'difference_approved', 'difference_refused', 'difference_voided', 'difference_lapsed',
    'bulk_approved', 'bulk_refused', 'bulk_lapsed',
    'signing_approved', 'signing_refused', 'signing_voided', 'signing_lapsed',
    'reopening_approved', 'reopening_refused', 'reopening_voided', 'reopening_lapsed'
)) EXECUTE FUNCTION review_notice_of_event();

-- Who signs approves at that moment.
CREATE TRIGGER signoff_in_role AFTER UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer = 'approved') EXECUTE FUNCTION review_approved_in_role('decided_by_account');
