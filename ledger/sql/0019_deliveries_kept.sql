-- What was told stays on record for its time, and what has still to be told, or never arrived, for ever.
DROP TRIGGER delivery_stays ON ledger_delivery;
CREATE FUNCTION ledger_delivery_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.state NOT IN ('delivered', 'dropped')
        OR coalesce(OLD.delivered_at, OLD.made_at) > tieout_now() - interval '7 days' THEN
        RAISE EXCEPTION 'a delivery stays until it is told, and for its time' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER delivery_stays BEFORE DELETE ON ledger_delivery FOR EACH ROW EXECUTE FUNCTION ledger_delivery_kept();
