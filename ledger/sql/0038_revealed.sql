-- How many hidden values a person looks at within a day is counted as each is written down: by their account, whatever it is
-- called, one after the other, from however many tabs.
CREATE FUNCTION ledger_reveal_counted() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    person integer := (SELECT id FROM auth_user WHERE username = NEW.actor);
BEGIN
    IF person IS NULL OR NEW.data ->> 'account' IS DISTINCT FROM person::text THEN
        RAISE EXCEPTION 'who looks at a hidden value is named with their account' USING ERRCODE = 'check_violation';
    END IF;
    PERFORM FROM auth_user WHERE id = person FOR NO KEY UPDATE;
    IF (
        SELECT count(*) FROM ledger_event
        WHERE kind = 'revealed' AND at > tieout_now() - interval '1 day'
            AND (data ->> 'account' = person::text OR actor = NEW.actor AND NOT data ? 'account')
    ) >= 50 THEN
        RAISE EXCEPTION 'nobody looks at more than 50 hidden values within a day' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_reveal_counted BEFORE INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.kind = 'revealed') EXECUTE FUNCTION ledger_reveal_counted();
