-- An administrator decides no items: no account is given that role and one that decides. Who has both from before keeps
-- them, and they decide nothing; what each role may do is written in review/access.py.
CREATE FUNCTION review_roles_apart() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    given text := (SELECT name FROM auth_group WHERE id = NEW.group_id);
BEGIN
    IF given NOT IN ('administrator', 'reviewer', 'approver') THEN
        RETURN NULL;
    END IF;
    PERFORM FROM auth_user WHERE id = NEW.user_id FOR NO KEY UPDATE;  -- one role of a person at a time
    IF EXISTS (
        SELECT FROM auth_user_groups AS m JOIN auth_group AS g ON g.id = m.group_id
        WHERE m.user_id = NEW.user_id AND m.id <> NEW.id
            AND g.name IN ('administrator', 'reviewer', 'approver')
            AND (g.name = 'administrator') <> (given = 'administrator')
    ) THEN
        RAISE EXCEPTION 'administrators decide no items: nobody has that role and one that decides'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER roles_apart AFTER INSERT OR UPDATE ON auth_user_groups
    FOR EACH ROW EXECUTE FUNCTION review_roles_apart();

-- A role is known by its name: another one would make it another role, for everybody who has it.
CREATE FUNCTION review_role_stays() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a role keeps its name, and no team takes it' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER role_stays BEFORE UPDATE OF name ON auth_group FOR EACH ROW
    WHEN (OLD.name IS DISTINCT FROM NEW.name AND (
        OLD.name IN ('viewer', 'reviewer', 'approver', 'administrator')
        OR NEW.name IN ('viewer', 'reviewer', 'approver', 'administrator')))
    EXECUTE FUNCTION review_role_stays();
CREATE TRIGGER role_not_removed BEFORE DELETE ON auth_group FOR EACH ROW
    WHEN (OLD.name IN ('viewer', 'reviewer', 'approver', 'administrator'))
    EXECUTE FUNCTION review_role_stays();
