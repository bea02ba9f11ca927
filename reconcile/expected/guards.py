"""What the database refuses about expected runs, as SQL; frozen with its migration."""

KEPT = """
-- What was expected stays, whatever becomes of the plan's schedule: a row goes only before its time comes.
CREATE TRIGGER expected_stays BEFORE DELETE ON reconcile_expectedrun FOR EACH ROW
    WHEN (OLD.due_at <= tieout_now()) EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER expected_no_truncate BEFORE TRUNCATE ON reconcile_expectedrun
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER expected_same BEFORE UPDATE ON reconcile_expectedrun FOR EACH ROW
    WHEN ((OLD.id, OLD.plan_id, OLD.due_at, OLD.report_by, OLD.made_at)
            IS DISTINCT FROM (NEW.id, NEW.plan_id, NEW.due_at, NEW.report_by, NEW.made_at)
        OR OLD.settled_at IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse();
"""
FORGOTTEN = """
DROP TRIGGER expected_stays ON reconcile_expectedrun;
DROP TRIGGER expected_no_truncate ON reconcile_expectedrun;
DROP TRIGGER expected_same ON reconcile_expectedrun;
"""
