-- What one person alone has closed or settled is noted by the guards of what they did, and by nobody else.
CREATE TRIGGER decidedalone_derived BEFORE INSERT ON ledger_decidedalone
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER settledalone_derived BEFORE INSERT ON ledger_settledalone
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_refuse();
