-- Whether a try's key covers it is known when it is claimed, and never changes.
CREATE TRIGGER attempt_key_apart_stays BEFORE UPDATE OF key_apart ON ledger_attempt FOR EACH ROW
    WHEN (OLD.key_apart IS DISTINCT FROM NEW.key_apart) EXECUTE FUNCTION ledger_refuse();
