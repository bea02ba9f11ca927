"""What the database refuses about periods and their signatures, as SQL; frozen with its migration."""

GUARDS = """
-- A period is a whole month by the clock of its zone; none overlaps another of its plan, and its bounds move
-- only while nothing of it is prepared or signed.
CREATE FUNCTION reconcile_period_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    moment interval := interval '1 microsecond';
BEGIN
    PERFORM FROM reconcile_plan WHERE id = NEW.plan_id FOR NO KEY UPDATE;
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.uid, OLD.plan_id, OLD.first_day, OLD.last_day, OLD.made_at)
            IS DISTINCT FROM (NEW.id, NEW.uid, NEW.plan_id, NEW.first_day, NEW.last_day, NEW.made_at) THEN
            RAISE EXCEPTION 'a period stays the month that it is' USING ERRCODE = 'check_violation';
        END IF;
        IF EXISTS (
            SELECT FROM reconcile_signoff AS s
            WHERE s.period_id = NEW.id AND s.way = 'sign' AND s.answer IN ('', 'approved')
                AND s.ended_at IS NULL
        ) THEN
            RAISE EXCEPTION 'a period that is prepared or signed stays as it is'
                USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF extract(day FROM NEW.first_day) <> 1
        OR NEW.last_day <> (NEW.first_day + interval '1 month - 1 day')::date
        OR (NEW.starts_at AT TIME ZONE NEW.timezone)::date <> NEW.first_day
        OR ((NEW.starts_at - moment) AT TIME ZONE NEW.timezone)::date >= NEW.first_day
        OR (NEW.ends_at AT TIME ZONE NEW.timezone)::date <> NEW.last_day + 1
        OR ((NEW.ends_at - moment) AT TIME ZONE NEW.timezone)::date <> NEW.last_day THEN
        RAISE EXCEPTION 'a period is a whole month of its zone' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM reconcile_period AS other
        WHERE other.plan_id = NEW.plan_id AND other.id <> NEW.id
            AND other.starts_at < NEW.ends_at AND other.ends_at > NEW.starts_at
    ) THEN
        RAISE EXCEPTION 'periods of a plan do not overlap' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER period_kept BEFORE INSERT OR UPDATE ON reconcile_period
    FOR EACH ROW EXECUTE FUNCTION reconcile_period_kept();
CREATE TRIGGER period_stays BEFORE DELETE ON reconcile_period
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER period_no_truncate BEFORE TRUNCATE ON reconcile_period
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- A report is made by the run over the period's days that is at work, after the cut-off; then it stays.
CREATE FUNCTION reconcile_report_made() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM reconcile_run AS r JOIN reconcile_period AS p ON p.plan_id = r.plan_id
        WHERE p.id = NEW.period_id AND r.id = NEW.run_id AND r.state = 'running' AND NOT r.dry_run
            AND r.started_at >= p.cut_off_at AND NEW.as_of_at = p.cut_off_at
            AND (r.window_from, r.window_to) = (p.starts_at, p.ends_at)
            AND (r.first_day, r.last_day) = (p.first_day, p.last_day)
            AND NEW.document #>> '{run,digest}' = r.digest
    ) THEN
        RAISE EXCEPTION 'a period is reported by a run over its days, after its cut-off'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER periodreport_made BEFORE INSERT ON reconcile_periodreport
    FOR EACH ROW EXECUTE FUNCTION reconcile_report_made();
CREATE TRIGGER periodreport_stays BEFORE UPDATE OR DELETE ON reconcile_periodreport
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER periodreport_no_truncate BEFORE TRUNCATE ON reconcile_periodreport
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- Why nobody prepares or signs a period by a run, beyond what stands in the way of the run itself. Empty
-- where somebody may.
CREATE FUNCTION reconcile_period_unsignable(period bigint, run bigint) RETURNS text LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT FROM reconcile_periodreport AS t
            WHERE t.period_id = p.id AND t.run_id = run AND t.as_of_at = p.cut_off_at
        ) THEN 'a period is signed by its report as of its cut-off'
        WHEN NOT (
            SELECT t.ties FROM reconcile_periodreport AS t WHERE t.period_id = p.id AND t.run_id = run
        ) THEN 'what is not explained is not signed'
        WHEN EXISTS (
            SELECT FROM reconcile_period AS earlier
            WHERE earlier.plan_id = p.plan_id AND earlier.first_day < p.first_day AND NOT EXISTS (
                SELECT FROM reconcile_signoff AS s
                WHERE s.period_id = earlier.id AND s.way = 'sign' AND s.answer = 'approved'
                    AND s.ended_at IS NULL
            )
        ) THEN 'an earlier period is still open'
        WHEN EXISTS (
            SELECT FROM (
                SELECT max(e.due_at) AS at FROM reconcile_expectedrun AS e
                WHERE e.plan_id = p.plan_id AND e.due_at >= p.starts_at AND e.due_at <= tieout_now()
            ) AS due
            WHERE due.at IS NOT NULL AND NOT EXISTS (
                SELECT FROM reconcile_run AS own
                WHERE own.plan_id = p.plan_id AND own.first_day IS NULL AND own.last_day IS NULL
                    AND NOT own.dry_run AND own.state = 'done' AND own.started_at >= due.at
            )
        ) THEN 'a run that was due has not reported'
        ELSE '' END
    FROM reconcile_period AS p WHERE p.id = period
$$;

CREATE FUNCTION reconcile_signoff_of_period() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    refused text := '';
BEGIN
    PERFORM FROM reconcile_plan WHERE id = NEW.plan_id FOR NO KEY UPDATE;
    IF TG_OP = 'UPDATE' AND NEW.period_id IS DISTINCT FROM OLD.period_id OR NOT EXISTS (
        SELECT FROM reconcile_period AS p WHERE p.id = NEW.period_id AND p.plan_id = NEW.plan_id
    ) OR NEW.way = 'reopen' AND NOT EXISTS (
        SELECT FROM reconcile_signoff AS s WHERE s.id = NEW.of_id AND s.period_id = NEW.period_id
    ) THEN
        RAISE EXCEPTION 'a signature stays with the period that it is of' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'INSERT' OR OLD.answer = '' AND NEW.answer = 'approved' THEN
        IF NEW.way = 'sign' THEN
            refused := reconcile_period_unsignable(NEW.period_id, NEW.run_id);
        ELSIF EXISTS (
            SELECT FROM reconcile_signoff AS s JOIN reconcile_period AS later ON later.id = s.period_id
            JOIN reconcile_period AS p ON p.id = NEW.period_id
            WHERE later.plan_id = p.plan_id AND later.first_day > p.first_day
                AND s.way = 'sign' AND s.answer = 'approved' AND s.ended_at IS NULL
        ) THEN
            refused := 'a later period is signed';
        END IF;
        IF coalesce(refused, 'there is no such period') <> '' THEN
            RAISE EXCEPTION '%', refused USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.way = 'sign' AND OLD.answer = '' AND NEW.answer = 'approved' AND NOT EXISTS (
        SELECT FROM reconcile_periodreport AS t JOIN reconcile_period AS p ON p.id = t.period_id
        WHERE t.period_id = NEW.period_id AND t.run_id = NEW.run_id
            AND NEW.signed #>> '{period,report}' = t.digest AND NEW.signed #>> '{period,id}' = p.uid::text
    ) THEN
        RAISE EXCEPTION 'what is signed is the report of its period' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER signoff_of_period BEFORE INSERT OR UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (NEW.period_id IS NOT NULL) EXECUTE FUNCTION reconcile_signoff_of_period();
CREATE TRIGGER signoff_period_stays BEFORE UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (OLD.period_id IS DISTINCT FROM NEW.period_id) EXECUTE FUNCTION ledger_refuse();
-- What is opened again of a run is not what is signed of a period.
CREATE FUNCTION reconcile_reopened_alike() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM reconcile_signoff AS s WHERE s.id = NEW.of_id AND s.period_id IS NOT NULL) THEN
        RAISE EXCEPTION 'a signature stays with the period that it is of' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER signoff_reopened_alike BEFORE INSERT ON reconcile_signoff FOR EACH ROW
    WHEN (NEW.period_id IS NULL AND NEW.of_id IS NOT NULL) EXECUTE FUNCTION reconcile_reopened_alike();
"""
UNGUARDED = """
DROP TRIGGER signoff_reopened_alike ON reconcile_signoff;
DROP TRIGGER signoff_period_stays ON reconcile_signoff;
DROP TRIGGER signoff_of_period ON reconcile_signoff;
DROP TRIGGER periodreport_made ON reconcile_periodreport;
DROP TRIGGER periodreport_stays ON reconcile_periodreport;
DROP TRIGGER periodreport_no_truncate ON reconcile_periodreport;
DROP TRIGGER period_kept ON reconcile_period;
DROP TRIGGER period_stays ON reconcile_period;
DROP TRIGGER period_no_truncate ON reconcile_period;
DROP FUNCTION reconcile_reopened_alike(), reconcile_signoff_of_period(),
    reconcile_period_unsignable(bigint, bigint), reconcile_report_made(), reconcile_period_kept();
"""

DRIFT = """
-- What was signed of a period is kept line by line: written with its report, and gone only while nobody has
-- signed by it.
CREATE FUNCTION reconcile_periodline_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND EXISTS (
        SELECT FROM (SELECT DISTINCT report_id FROM changed) AS c
        JOIN reconcile_periodreport AS t ON t.id = c.report_id JOIN reconcile_run AS r ON r.id = t.run_id
        WHERE r.state <> 'running'
    ) OR TG_OP = 'DELETE' AND EXISTS (
        SELECT FROM (SELECT DISTINCT report_id FROM changed) AS c
        JOIN reconcile_periodreport AS t ON t.id = c.report_id
        JOIN reconcile_signoff AS s ON s.run_id = t.run_id AND s.period_id IS NOT NULL
        WHERE s.way = 'sign' AND s.answer IN ('', 'approved')
    ) THEN
        RAISE EXCEPTION 'what was signed of a period stays' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER periodline_comes AFTER INSERT ON reconcile_periodline REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION reconcile_periodline_kept();
CREATE TRIGGER periodline_goes AFTER DELETE ON reconcile_periodline REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION reconcile_periodline_kept();
CREATE TRIGGER periodline_stays BEFORE UPDATE OR TRUNCATE ON reconcile_periodline
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- What is late is found by a run that is at work, and is over once, by a later one; it never changes.
CREATE FUNCTION reconcile_lateitem_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    kept reconcile_lateitem := NEW;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        kept.over_in_id := OLD.over_in_id;
    END IF;
    IF TG_OP = 'UPDATE' AND (kept IS DISTINCT FROM OLD OR OLD.over_in_id IS NOT NULL)
        OR NOT EXISTS (
            SELECT FROM reconcile_run AS r JOIN reconcile_period AS p ON p.plan_id = r.plan_id
            WHERE r.id = CASE TG_OP WHEN 'INSERT' THEN NEW.found_in_id ELSE NEW.over_in_id END
                AND p.id = NEW.into_id AND r.state = 'running' AND NOT r.dry_run
        ) THEN
        RAISE EXCEPTION 'what is late is found by a run that is at work, and stays'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER lateitem_kept BEFORE INSERT OR UPDATE ON reconcile_lateitem
    FOR EACH ROW EXECUTE FUNCTION reconcile_lateitem_kept();
CREATE TRIGGER lateitem_stays BEFORE DELETE OR TRUNCATE ON reconcile_lateitem
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
"""
NO_DRIFT = """
DROP TRIGGER periodline_comes ON reconcile_periodline;
DROP TRIGGER periodline_goes ON reconcile_periodline;
DROP TRIGGER periodline_stays ON reconcile_periodline;
DROP TRIGGER lateitem_kept ON reconcile_lateitem;
DROP TRIGGER lateitem_stays ON reconcile_lateitem;
DROP FUNCTION reconcile_periodline_kept(), reconcile_lateitem_kept();
"""
