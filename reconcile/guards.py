"""What the database refuses about what runs have found, as SQL; frozen with its migration."""

FOUND = """
-- What a run found is written while it runs, and is never removed. Four columns move, all others stay as
-- found: whose case it is and whether anybody has to answer it, until its own run ends; that it lives no
-- more, and which run found it gone, once, by a later run of its plan that is at work.
CREATE FUNCTION reconcile_finding_kept() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    own reconcile_run := (SELECT r FROM reconcile_run AS r WHERE r.id = NEW.run_id);
    at_work boolean := own.state = 'running' AND NOT own.dry_run;
    kept reconcile_finding := NEW;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT at_work OR NOT NEW.lives THEN
            RAISE EXCEPTION 'a difference is found by a run that is at work'
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    kept.case_id := OLD.case_id;
    kept.is_open := OLD.is_open;
    kept.lives := OLD.lives;
    kept.gone_in_id := OLD.gone_in_id;
    IF kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'what a run found never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.case_id, OLD.is_open) IS DISTINCT FROM (NEW.case_id, NEW.is_open) AND NOT at_work THEN
        RAISE EXCEPTION 'whose case a difference is stays with the end of its run'
            USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.lives, OLD.gone_in_id) IS DISTINCT FROM (NEW.lives, NEW.gone_in_id) AND (
        NOT OLD.lives OR NEW.lives OR NOT EXISTS (
            SELECT FROM reconcile_run AS later
            WHERE later.plan_id = own.plan_id AND later.state = 'running' AND NOT later.dry_run
                AND later.id > own.id AND later.id = coalesce(NEW.gone_in_id, later.id)
        )
    ) THEN
        RAISE EXCEPTION 'a difference is followed by a later run that is at work, once'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER finding_kept BEFORE INSERT OR UPDATE ON reconcile_finding
    FOR EACH ROW EXECUTE FUNCTION reconcile_finding_kept();
CREATE TRIGGER finding_stays BEFORE DELETE ON reconcile_finding
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER finding_no_truncate BEFORE TRUNCATE ON reconcile_finding
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- A run that has ended is a record with its figures; of one at work, only what was asked for is.
-- A dry run leaves none.
CREATE TRIGGER run_kept BEFORE UPDATE ON reconcile_run FOR EACH ROW
    WHEN (OLD.state <> 'running' AND OLD IS DISTINCT FROM NEW) EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER run_asked_for_stays BEFORE UPDATE ON reconcile_run FOR EACH ROW
    WHEN ((OLD.id, OLD.uid, OLD.plan_id, OLD.actor, OLD.window_from, OLD.window_to,
           OLD.first_day, OLD.last_day, OLD.dry_run, OLD.started_at)
        IS DISTINCT FROM
          (NEW.id, NEW.uid, NEW.plan_id, NEW.actor, NEW.window_from, NEW.window_to,
           NEW.first_day, NEW.last_day, NEW.dry_run, NEW.started_at))
    EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER run_stays BEFORE DELETE ON reconcile_run FOR EACH ROW
    WHEN (NOT OLD.dry_run) EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER run_no_truncate BEFORE TRUNCATE ON reconcile_run
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
"""

STAGED = """
-- A run begins at its beginning, goes step by step, and is done by who has it, with what it has staged.
CREATE FUNCTION reconcile_run_walks() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'running' OR NEW.step <> 'listing' THEN
            RAISE EXCEPTION 'a run begins at its beginning' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.step <> NEW.step AND (OLD.step, NEW.step) NOT IN (
        ('listing', 'comparing'), ('comparing', 'settling'), ('comparing', 'listing')
    ) THEN
        RAISE EXCEPTION 'a run goes step by step' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state = 'done' AND OLD.state = 'running' THEN
        IF OLD.step <> 'settling' OR OLD.lease_until <= tieout_now() THEN
            RAISE EXCEPTION 'a run is done by who has it, once it has settled'
                USING ERRCODE = 'check_violation';
        END IF;
        IF EXISTS (
            SELECT FROM (
                SELECT item_class, count(*) AS items FROM reconcile_record
                WHERE run_id = NEW.id AND item_class NOT IN ('matched', 'in_flight', 'out_of_scope')
                GROUP BY 1
            ) AS staged FULL JOIN (
                SELECT item_class, sum(items) AS items FROM reconcile_finding WHERE run_id = NEW.id GROUP BY 1
            ) AS found USING (item_class)
            WHERE staged.items IS DISTINCT FROM found.items
        ) THEN
            RAISE EXCEPTION 'what a run found is what it has staged' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_walks BEFORE INSERT OR UPDATE ON reconcile_run
    FOR EACH ROW EXECUTE FUNCTION reconcile_run_walks();

-- A difference is stored by who has its run, between comparing and settling.
CREATE FUNCTION reconcile_finding_compared() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM reconcile_run
        WHERE id = NEW.run_id AND state = 'running' AND step = 'comparing' AND lease_until > tieout_now()
    ) THEN
        RAISE EXCEPTION 'a difference is found by a run that is at work, as it compares'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER finding_compared BEFORE INSERT ON reconcile_finding
    FOR EACH ROW EXECUTE FUNCTION reconcile_finding_compared();

-- Nobody decides about what a run found that is not done.
CREATE FUNCTION reconcile_decision_of_done() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM reconcile_finding AS f JOIN reconcile_run AS r ON r.id = f.run_id
        WHERE f.id IN (NEW.finding_id, NEW.other_id) AND r.state <> 'done'
    ) THEN
        RAISE EXCEPTION 'a decision is about what a run found that is done' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decision_of_done BEFORE INSERT ON reconcile_decision
    FOR EACH ROW EXECUTE FUNCTION reconcile_decision_of_done();
"""
UNSTAGED = """
DROP TRIGGER run_walks ON reconcile_run;
DROP TRIGGER finding_compared ON reconcile_finding;
DROP TRIGGER decision_of_done ON reconcile_decision;
DROP FUNCTION reconcile_run_walks(), reconcile_finding_compared(), reconcile_decision_of_done();
"""

LINES_STAY = """
-- What a run has staged is written while it is at work, and stays with its end, for whoever decides about it
-- later. It goes once a later run of its plan is done. Asked once a statement: lines come by the million.
CREATE FUNCTION reconcile_record_stays() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT run_id FROM changed) AS c JOIN reconcile_run AS r ON r.id = c.run_id
        WHERE r.state <> 'running' AND (TG_OP <> 'DELETE' OR (r.state = 'done' AND NOT EXISTS (
            SELECT FROM reconcile_run AS later
            WHERE later.plan_id = r.plan_id AND later.state = 'done' AND later.id > r.id
        )))
    ) THEN
        RAISE EXCEPTION 'what a run has staged stays with its end' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER record_comes AFTER INSERT ON reconcile_record REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION reconcile_record_stays();
CREATE TRIGGER record_same AFTER UPDATE ON reconcile_record REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION reconcile_record_stays();
CREATE TRIGGER record_goes AFTER DELETE ON reconcile_record REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION reconcile_record_stays();
CREATE TRIGGER record_of_its_run BEFORE UPDATE OF run_id ON reconcile_record FOR EACH ROW
    WHEN (OLD.run_id IS DISTINCT FROM NEW.run_id) EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER record_no_truncate BEFORE TRUNCATE ON reconcile_record
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
"""
LINES_GO = """
DROP TRIGGER record_comes ON reconcile_record;
DROP TRIGGER record_same ON reconcile_record;
DROP TRIGGER record_goes ON reconcile_record;
DROP TRIGGER record_of_its_run ON reconcile_record;
DROP TRIGGER record_no_truncate ON reconcile_record;
DROP FUNCTION reconcile_record_stays();
"""
