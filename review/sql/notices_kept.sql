-- A notice is read once, at the ledger's own time, and what was said stays for its time: until it is read or told, and
-- for a week after at the least.
CREATE OR REPLACE FUNCTION review_notice_is_derived() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.id, OLD.person_id, OLD.kind, OLD.about, OLD.event_id, OLD.count, OLD.at)
        IS NOT DISTINCT FROM (NEW.id, NEW.person_id, NEW.kind, NEW.about, NEW.event_id, NEW.count, NEW.at)
        AND OLD.read_at IS NULL THEN
        IF NEW.read_at IS NOT NULL THEN
            NEW.read_at := tieout_now();
        END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'notices follow from events' USING ERRCODE = 'check_violation';
END $$;
CREATE FUNCTION review_said_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'what was said stays for its time' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER notice_stays BEFORE DELETE ON review_notice FOR EACH ROW
    WHEN (OLD.read_at IS NULL OR OLD.read_at > tieout_now() - interval '7 days') EXECUTE FUNCTION review_said_kept();
CREATE TRIGGER notice_no_truncate BEFORE TRUNCATE ON review_notice
    FOR EACH STATEMENT EXECUTE FUNCTION review_said_kept();
CREATE TRIGGER message_kept BEFORE DELETE ON review_message FOR EACH ROW
    WHEN (OLD.made_at > tieout_now() - interval '7 days') EXECUTE FUNCTION review_said_kept();
CREATE TRIGGER message_no_truncate BEFORE TRUNCATE ON review_message
    FOR EACH STATEMENT EXECUTE FUNCTION review_said_kept();
