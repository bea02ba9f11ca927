-- Who stands in for another is one hand with them: neither approves what the other one asked, and what both close alone
-- is added together. It gives no right that the deputy has not got.
CREATE TRIGGER deputy_stays BEFORE DELETE ON ledger_deputy FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER deputy_no_truncate BEFORE TRUNCATE ON ledger_deputy
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION ledger_deputy_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.principal_account := (SELECT id FROM auth_user WHERE username = NEW.principal);
        NEW.deputy_account := (SELECT id FROM auth_user WHERE username = NEW.deputy);
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL
       OR (OLD.uid, OLD.principal, OLD.principal_account, OLD.deputy, OLD.deputy_account, OLD.starts_at, OLD.ends_at,
           OLD.reason, OLD.command_id, OLD.made_by, OLD.made_at)
          IS DISTINCT FROM
          (NEW.uid, NEW.principal, NEW.principal_account, NEW.deputy, NEW.deputy_account, NEW.starts_at, NEW.ends_at,
           NEW.reason, NEW.command_id, NEW.made_by, NEW.made_at)
       OR NEW.ended_at < tieout_now() - interval '1 minute' THEN
        RAISE EXCEPTION 'a deputy is ended once, from then on' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER deputy_once BEFORE INSERT OR UPDATE ON ledger_deputy
    FOR EACH ROW EXECUTE FUNCTION ledger_deputy_once();

CREATE FUNCTION ledger_deputy_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND data->>'deputy' = NEW.uid::text
            AND actor = CASE WHEN NEW.ended_at IS NULL THEN NEW.made_by ELSE NEW.ended_by END
            AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'deputy % without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deputy_told AFTER INSERT OR UPDATE ON ledger_deputy
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_deputy_told();

-- Whether one of the two has stood in for the other at any moment of that time.
CREATE FUNCTION ledger_one_hand(one integer, other integer, since timestamptz, until timestamptz)
    RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM ledger_deputy
        WHERE (deputy_account = one AND principal_account = other OR deputy_account = other AND principal_account = one)
            AND starts_at <= until AND coalesce(ended_at, ends_at) > greatest(since, starts_at)
    )
$$;

CREATE FUNCTION ledger_approval_one_hand() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF ledger_one_hand(NEW.maker_account, NEW.decided_by_account, OLD.made_at, NEW.decided_at) THEN
        RAISE EXCEPTION 'nobody approves what who they stand in for has asked' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- Triggers go by their names: this one comes after approval_once, which writes the account.
CREATE TRIGGER approval_then_one_hand BEFORE UPDATE ON ledger_approval FOR EACH ROW
    WHEN (NEW.answer = 'approved') EXECUTE FUNCTION ledger_approval_one_hand();

-- What is added together: also what a person closed alone who stands in for them today, or for whom they do; each of
-- them once, however often they were named.
CREATE OR REPLACE FUNCTION ledger_same_hand(person text) RETURNS TABLE (account integer, name text) LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT (SELECT id FROM auth_user WHERE username = person), person
    UNION
    SELECT other.id, other.username::text
    FROM auth_user AS mine
        JOIN ledger_deputy AS d ON mine.id IN (d.deputy_account, d.principal_account)
            AND d.starts_at <= tieout_now() AND coalesce(d.ended_at, d.ends_at) > greatest(d.starts_at, tieout_now() - interval '1 day')
        JOIN auth_user AS other ON other.id IN (d.deputy_account, d.principal_account) AND other.id <> mine.id
    WHERE mine.username = person
$$;
