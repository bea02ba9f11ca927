-- A notice is written with its event, in the same transaction, for whom it concerns; alike ones that nobody has read yet
-- are one that counts. Everybody of a role is meant by the names that are no team's.
CREATE FUNCTION review_group_of(team text) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE team WHEN 'approvers' THEN 'approver' WHEN 'administrators' THEN 'administrator' ELSE team END
$$;

CREATE FUNCTION review_notice_of_event() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    given boolean := NEW.kind IN ('assigned', 'handed_over');
    what text := CASE
        WHEN given THEN 'given' WHEN NEW.kind = 'commented' THEN 'named'
        WHEN NEW.data ? 'approval' THEN 'overdue' ELSE 'escalated' END;
    concerns text := CASE what
        WHEN 'given' THEN NEW.kind || ' ' || md5(NEW.actor || ' ' || NEW.reason)
        WHEN 'named' THEN NEW.operation_id::text
        ELSE NEW.data ->> 'to' END;
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
    ORDER BY u.id
    ON CONFLICT (person_id, kind, about) WHERE read_at IS NULL
    DO UPDATE SET count = n.count + 1, event_id = EXCLUDED.event_id, at = tieout_now();
    IF what = 'escalated' THEN
        UPDATE review_channel SET pending = pending + 1 WHERE name = 'chat:' || (NEW.data ->> 'to');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_noticed AFTER INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.kind IN ('assigned', 'handed_over', 'commented', 'escalated'))
    EXECUTE FUNCTION review_notice_of_event();

-- A reader marks a notice, and nobody writes one; what a message says never changes, and what waits is not removed.
CREATE FUNCTION review_notice_is_derived() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.person_id, OLD.kind, OLD.about, OLD.event_id, OLD.count, OLD.at)
        IS NOT DISTINCT FROM (NEW.person_id, NEW.kind, NEW.about, NEW.event_id, NEW.count, NEW.at) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'notices follow from events' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER notice_derived BEFORE INSERT OR UPDATE ON review_notice FOR EACH ROW
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION review_notice_is_derived();

CREATE FUNCTION review_message_same() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.uid, OLD.channel_id, OLD.person_id, OLD.day, OLD.lines, OLD.made_at)
        IS NOT DISTINCT FROM (NEW.uid, NEW.channel_id, NEW.person_id, NEW.day, NEW.lines, NEW.made_at) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'what a message says never changes, and what waits stays' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER message_same BEFORE UPDATE ON review_message FOR EACH ROW EXECUTE FUNCTION review_message_same();
CREATE TRIGGER message_stays BEFORE DELETE ON review_message FOR EACH ROW
    WHEN (OLD.state IN ('waiting', 'given_up')) EXECUTE FUNCTION review_message_same();
