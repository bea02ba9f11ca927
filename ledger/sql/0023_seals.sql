-- Seals: each follows the one before, and stays. Two at once cannot fork the chain: one has the number, the other none.
CREATE FUNCTION ledger_seal_follows() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    last ledger_seal;
BEGIN
    SELECT * INTO last FROM ledger_seal ORDER BY number DESC LIMIT 1;
    IF (NEW.number, NEW.after, NEW.previous) IS DISTINCT FROM
       (coalesce(last.number, 0) + 1, coalesce(last.through, 0), coalesce(last.head, repeat('0', 64))) THEN
        RAISE EXCEPTION 'a seal follows the one before it' USING ERRCODE = 'check_violation';
    END IF;
    NEW.sealed_at := tieout_now();
    RETURN NEW;
END $$;
CREATE TRIGGER seal_follows BEFORE INSERT ON ledger_seal FOR EACH ROW EXECUTE FUNCTION ledger_seal_follows();
CREATE TRIGGER seal_stays BEFORE UPDATE OR DELETE ON ledger_seal FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER seal_no_truncate BEFORE TRUNCATE ON ledger_seal FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
