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

AHEAD = """
-- A time is written down after the last one that its plan has, and after the plan itself; behind one that
-- has not come yet stands none. No schedule leaves more than eight years between two times. A time is
-- settled once it has come, not before.
CREATE FUNCTION reconcile_expected_in_turn() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    now_ timestamptz := tieout_now();
    after_ timestamptz;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.settled_at NOT BETWEEN NEW.due_at AND now_ THEN
            RAISE EXCEPTION 'what is expected is settled once its time has come'
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    SELECT changed_at INTO after_ FROM reconcile_plan WHERE id = NEW.plan_id FOR NO KEY UPDATE;
    SELECT coalesce(max(due_at), after_) INTO after_ FROM reconcile_expectedrun WHERE plan_id = NEW.plan_id;
    IF NEW.due_at <= after_ OR after_ > now_ OR NEW.due_at > now_ + interval '9 years'
        OR NEW.settled_at IS NOT NULL THEN
        RAISE EXCEPTION 'times are written down in their turn, one of them ahead'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER expected_in_turn BEFORE INSERT OR UPDATE OF settled_at ON reconcile_expectedrun
    FOR EACH ROW EXECUTE FUNCTION reconcile_expected_in_turn();
"""
AT_WILL = """
DROP TRIGGER expected_in_turn ON reconcile_expectedrun;
DROP FUNCTION reconcile_expected_in_turn();
"""
