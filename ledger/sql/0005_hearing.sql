-- What was heard once stays heard: the same event never counts twice, however old it is when it comes again.
CREATE TRIGGER heard_stays BEFORE UPDATE OR DELETE ON ledger_heard FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER heard_no_truncate BEFORE TRUNCATE ON ledger_heard
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
