-- To which entities a term is limited stays as it was given, too.
CREATE OR REPLACE FUNCTION review_term_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL
       OR (OLD.uid, OLD.person_id, OLD.name, OLD.begins_at, OLD.ends_at, OLD.reason, OLD.given_by, OLD.given_at, OLD.entities)
        IS DISTINCT FROM
       (NEW.uid, NEW.person_id, NEW.name, NEW.begins_at, NEW.ends_at, NEW.reason, NEW.given_by, NEW.given_at, NEW.entities) THEN
        RAISE EXCEPTION 'a term is ended once, and never made longer' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
