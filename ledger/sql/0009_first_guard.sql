-- A new operation is looked at by its guard only where there is something to look at: one that begins elsewhere than
-- pending or running, and a correction. All others were planned and found innocent each time, a sixth of their insert.
DROP TRIGGER operation_moves ON ledger_operation;
CREATE TRIGGER operation_moves BEFORE UPDATE ON ledger_operation
    FOR EACH ROW EXECUTE FUNCTION ledger_operation_moves();
CREATE TRIGGER operation_begins BEFORE INSERT ON ledger_operation FOR EACH ROW
    WHEN (NEW.corrects_id IS NOT NULL OR NEW.state IS NULL OR NEW.state NOT IN ('pending', 'running'))
    EXECUTE FUNCTION ledger_operation_moves();
