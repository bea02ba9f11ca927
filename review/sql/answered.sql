-- Who asked, whatever it was, whom it is about and since when; by the request that an event names. And with what it is told
-- as one: those of one entity; a list of many by itself, for it may go through several; proposals, which are of none.
CREATE FUNCTION review_asked(said jsonb)
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
    SELECT b.maker, b.maker_account, NULL, b.frozen_at, 'list ' || b.uid FROM review_bulk AS b WHERE b.uid = (said ->> 'bulk')::uuid
$$;

-- Who has a role that counts, as `in_force` in reconcile/proposals/roles.py has it: who is an administrator as well decides
-- nothing, and is told of nothing that only who decides can do.
CREATE FUNCTION review_has_role(person integer, role text) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT coalesce(role = ANY (given) AND NOT (role IN ('reviewer', 'approver') AND 'administrator' = ANY (given)), false)
    FROM (
        SELECT array_agg(g.name::text) AS given
        FROM auth_user_groups AS m JOIN auth_group AS g ON g.id = m.group_id WHERE m.user_id = person
    ) AS theirs
$$;

-- Besides what was given, named and passed on: what somebody asked a second person has its answer. Who answers reads of what
-- is past its due time, except who cannot answer it; who asked reads what came of it.
CREATE OR REPLACE FUNCTION review_notice_of_event() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    what text := CASE
        WHEN NEW.kind IN ('assigned', 'handed_over') THEN 'given' WHEN NEW.kind = 'commented' THEN 'named'
        WHEN NEW.kind <> 'escalated' THEN 'answered'
        WHEN NEW.data ?| ARRAY['approval', 'proposal', 'decision', 'bulk'] THEN 'overdue' ELSE 'escalated' END;
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
    'bulk_approved', 'bulk_refused', 'bulk_lapsed'
)) EXECUTE FUNCTION review_notice_of_event();

-- A notice goes with the account that it was for, and by itself only after its time.
CREATE FUNCTION review_notice_stays() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM auth_user WHERE id = OLD.person_id) THEN
        RAISE EXCEPTION 'what was said stays for its time' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER notice_stays ON review_notice;
CREATE CONSTRAINT TRIGGER notice_stays AFTER DELETE ON review_notice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.read_at IS NULL OR OLD.read_at > tieout_now() - interval '7 days') EXECUTE FUNCTION review_notice_stays();
