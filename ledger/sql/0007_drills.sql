-- Drills and their steps only grow: what one found counts in decisions, and what it made may be there still.
CREATE TRIGGER drill_append_only BEFORE UPDATE OR DELETE ON ledger_drill
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER drill_no_truncate BEFORE TRUNCATE ON ledger_drill
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER drill_step_append_only BEFORE UPDATE OR DELETE ON ledger_drillstep
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER drill_step_no_truncate BEFORE TRUNCATE ON ledger_drillstep
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

-- When it was drilled is the ledger's own word: the guarantee carries that day.
CREATE FUNCTION ledger_drill_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.begun_at := tieout_now();
    RETURN NEW;
END $$;
CREATE TRIGGER drill_dated BEFORE INSERT ON ledger_drill FOR EACH ROW EXECUTE FUNCTION ledger_drill_dated();

-- What ended stays as it ended: no result is added to it later, and what is told is told in its event.
CREATE FUNCTION ledger_drill_step_dated() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.at := tieout_now();
    IF EXISTS (SELECT FROM ledger_drillstep WHERE drill_id = NEW.drill_id AND kind = 'ended') THEN
        RAISE EXCEPTION 'a drill that has ended takes no further step' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER drill_step_dated BEFORE INSERT ON ledger_drillstep
    FOR EACH ROW EXECUTE FUNCTION ledger_drill_step_dated();

CREATE FUNCTION ledger_drill_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event AS e JOIN ledger_drill AS d ON e.data ->> 'drill' = d.uid::text
        WHERE d.id = NEW.drill_id AND e.kind = 'drilled' AND e.tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'a drill ended without an event' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER drill_told AFTER INSERT ON ledger_drillstep
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind IN ('result', 'ended'))
    EXECUTE FUNCTION ledger_drill_told();
