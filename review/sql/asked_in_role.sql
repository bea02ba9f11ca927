-- Two people sign only where the first one is somebody as well: who prepares a run, or asks to open it again, has an account
-- that is there and open, and decides at that moment.
CREATE FUNCTION review_prepared_in_role() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT review_approves(NEW.maker_account) AND NOT EXISTS (
        SELECT FROM auth_user AS u
        WHERE u.id = NEW.maker_account AND u.is_active AND review_has_role(u.id, 'reviewer') AND NOT EXISTS (
            SELECT FROM review_auditorterm AS t
            WHERE t.person_id = u.id AND t.ended_at IS NULL AND t.begins_at <= tieout_now() AND t.ends_at > tieout_now()
        )
    ) THEN
        RAISE EXCEPTION 'a run is prepared by somebody whose account is open and decides'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER signoff_asked_in_role AFTER INSERT ON reconcile_signoff
    FOR EACH ROW EXECUTE FUNCTION review_prepared_in_role();
