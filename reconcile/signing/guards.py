"""What the database refuses about what is signed, as SQL; frozen with its migration."""

GUARDS = """
-- Why nobody prepares or signs a run: it did not come to its end, something of it is unexplained, or its
-- days were looked at again. Empty where somebody may.
CREATE FUNCTION reconcile_unsignable(run bigint) RETURNS text LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN r.state <> 'done' OR r.dry_run THEN 'a run that did not come to its end is not signed'
        WHEN NOT coalesce((r.tie ->> 'ties')::boolean, false)
            OR (r.totals ->> 'unexplained_items')::bigint <> 0
            OR EXISTS (SELECT FROM jsonb_each_text(r.residual) WHERE value::numeric <> 0)
            THEN 'what is not explained is not signed'
        WHEN EXISTS (
            SELECT FROM reconcile_run AS later
            WHERE later.plan_id = r.plan_id AND later.id > r.id AND NOT later.dry_run
                AND (later.first_day, later.last_day) IS NOT DISTINCT FROM (r.first_day, r.last_day)
        ) THEN 'a later run has looked at the same days'
        ELSE '' END
    FROM reconcile_run AS r WHERE r.id = run
$$;

CREATE FUNCTION reconcile_signoff_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    refused text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT ledger_is_person(NEW.maker) THEN
            RAISE EXCEPTION 'a person prepares a run' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.decided_at IS NOT NULL OR NEW.ended_at IS NOT NULL OR NEW.signed IS NOT NULL THEN
            RAISE EXCEPTION 'a run is prepared before it is signed' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (
            SELECT FROM reconcile_run AS r JOIN reconcile_plan AS p ON p.id = r.plan_id
            WHERE r.id = NEW.run_id AND p.id = NEW.plan_id AND p.operation_type_id = NEW.operation_type_id
                AND r.digest = NEW.digest
        ) OR (NEW.way = 'reopen' AND NOT EXISTS (
            SELECT FROM reconcile_signoff AS s WHERE s.id = NEW.of_id AND s.run_id = NEW.run_id
                AND s.way = 'sign' AND s.answer = 'approved' AND s.ended_at IS NULL
        )) THEN
            RAISE EXCEPTION 'what is prepared is what the run came to' USING ERRCODE = 'check_violation';
        END IF;
        refused := CASE NEW.way WHEN 'sign' THEN reconcile_unsignable(NEW.run_id) ELSE '' END;
        IF refused <> '' THEN
            RAISE EXCEPTION '%', refused USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := (SELECT id FROM auth_user WHERE username = NEW.maker);
        NEW.decided_by_account := NULL;
        RETURN NEW;
    END IF;
    IF (OLD.id, OLD.uid, OLD.way, OLD.run_id, OLD.plan_id, OLD.operation_type_id, OLD.of_id, OLD.digest,
        OLD.maker, OLD.maker_account, OLD.reason, OLD.command_id, OLD.made_at, OLD.expires_at)
        IS DISTINCT FROM
       (NEW.id, NEW.uid, NEW.way, NEW.run_id, NEW.plan_id, NEW.operation_type_id, NEW.of_id, NEW.digest,
        NEW.maker, NEW.maker_account, NEW.reason, NEW.command_id, NEW.made_at, NEW.expires_at) THEN
        RAISE EXCEPTION 'what is prepared never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.answer, OLD.decided_at, OLD.decided_by, OLD.why, OLD.signed, OLD.signed_digest) IS DISTINCT FROM
       (NEW.answer, NEW.decided_at, NEW.decided_by, NEW.why, NEW.signed, NEW.signed_digest) THEN
        IF OLD.decided_at IS NOT NULL THEN
            RAISE EXCEPTION 'a preparation is answered once, and what was signed stays'
                USING ERRCODE = 'check_violation';
        END IF;
        NEW.decided_by_account := (SELECT id FROM auth_user WHERE username = NEW.decided_by);
        IF NEW.answer = 'approved' THEN
            IF NOT ledger_is_person(NEW.decided_by) THEN
                RAISE EXCEPTION 'a person signs a run' USING ERRCODE = 'check_violation';
            END IF;
            refused := CASE NEW.way WHEN 'sign' THEN reconcile_unsignable(NEW.run_id) ELSE '' END;
            IF refused <> '' THEN
                RAISE EXCEPTION '%', refused USING ERRCODE = 'check_violation';
            END IF;
            IF NEW.way = 'sign' AND NEW.signed ->> 'digest' IS DISTINCT FROM NEW.digest THEN
                RAISE EXCEPTION 'what is signed is what was prepared' USING ERRCODE = 'check_violation';
            END IF;
        END IF;
    END IF;
    IF OLD.ended_at IS DISTINCT FROM NEW.ended_at AND (
        OLD.ended_at IS NOT NULL OR OLD.answer <> 'approved' OR NOT EXISTS (
            SELECT FROM reconcile_signoff AS asked
            WHERE asked.of_id = NEW.id AND asked.way = 'reopen' AND asked.answer = 'approved'
        )
    ) THEN
        RAISE EXCEPTION 'what is signed is opened again by two' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER signoff_once BEFORE INSERT OR UPDATE ON reconcile_signoff
    FOR EACH ROW EXECUTE FUNCTION reconcile_signoff_once();
CREATE TRIGGER signoff_by_second AFTER UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer IN ('approved', 'refused'))
    EXECUTE FUNCTION ledger_answered_by_another('decided_by', 'decided_by_account', 'made_at', 'decided_at');
CREATE TRIGGER signoff_stays BEFORE DELETE ON reconcile_signoff
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER signoff_no_truncate BEFORE TRUNCATE ON reconcile_signoff
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION reconcile_signoff_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND data ->> 'signoff' = NEW.uid::text AND tx = pg_current_xact_id()
            AND (NEW.ended_at IS NOT NULL OR actor = coalesce(nullif(NEW.decided_by, ''), NEW.maker))
    ) THEN
        RAISE EXCEPTION 'signature % without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER signoff_told AFTER INSERT ON reconcile_signoff
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reconcile_signoff_told();
CREATE CONSTRAINT TRIGGER signoff_told_again AFTER UPDATE ON reconcile_signoff
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.escalated_at IS NOT DISTINCT FROM NEW.escalated_at)
    EXECUTE FUNCTION reconcile_signoff_told();
CREATE CONSTRAINT TRIGGER signoff_mark_told AFTER UPDATE ON reconcile_signoff
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at)
    EXECUTE FUNCTION ledger_mark_told('signoff');
CREATE TRIGGER signoff_marked_once BEFORE UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at
        AND (OLD.escalated_at IS NOT NULL OR NEW.answer <> ''))
    EXECUTE FUNCTION ledger_refuse();
"""
UNGUARDED = """
DROP TRIGGER signoff_once ON reconcile_signoff;
DROP TRIGGER signoff_by_second ON reconcile_signoff;
DROP TRIGGER signoff_stays ON reconcile_signoff;
DROP TRIGGER signoff_no_truncate ON reconcile_signoff;
DROP TRIGGER signoff_told ON reconcile_signoff;
DROP TRIGGER signoff_told_again ON reconcile_signoff;
DROP TRIGGER signoff_mark_told ON reconcile_signoff;
DROP TRIGGER signoff_marked_once ON reconcile_signoff;
DROP FUNCTION reconcile_signoff_once(), reconcile_signoff_told(), reconcile_unsignable(bigint);
"""

SIGNABLE = """
-- Why nobody prepares or signs a run: it did not come to its end, something of it is unexplained, or its
-- days were looked at again, were not over, or end with a due time that nothing has reported for since.
-- Empty where somebody may.
CREATE OR REPLACE FUNCTION reconcile_unsignable(run bigint) RETURNS text LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN r.state <> 'done' OR r.dry_run THEN 'a run that did not come to its end is not signed'
        WHEN NOT coalesce((r.tie ->> 'ties')::boolean, false)
            OR (r.totals ->> 'unexplained_items')::bigint <> 0
            OR EXISTS (SELECT FROM jsonb_each_text(r.residual) WHERE value::numeric <> 0)
            THEN 'what is not explained is not signed'
        WHEN EXISTS (
            SELECT FROM reconcile_run AS later
            WHERE later.plan_id = r.plan_id AND later.id > r.id AND NOT later.dry_run
                AND (later.first_day, later.last_day) IS NOT DISTINCT FROM (r.first_day, r.last_day)
        ) THEN 'a later run has looked at the same days'
        WHEN r.last_day IS NOT NULL AND r.window_to > r.started_at
            THEN 'days that were not over when it ran are not signed'
        WHEN r.last_day IS NOT NULL AND EXISTS (
            SELECT FROM (
                SELECT max(e.due_at) AS at FROM reconcile_expectedrun AS e
                WHERE e.plan_id = r.plan_id AND e.due_at >= r.window_from AND e.due_at < r.window_to
            ) AS due
            WHERE due.at IS NOT NULL AND NOT EXISTS (
                SELECT FROM reconcile_run AS own
                WHERE own.plan_id = r.plan_id AND own.first_day IS NULL AND own.last_day IS NULL
                    AND NOT own.dry_run AND own.state = 'done' AND own.started_at >= due.at
            )
        ) THEN 'days whose last expected run did not report are not signed'
        ELSE '' END
    FROM reconcile_run AS r WHERE r.id = run
$$;
"""

SIGNABLE_OF_EITHER_DAY = SIGNABLE.replace(
    "r.last_day IS NOT NULL", "(r.first_day IS NOT NULL OR r.last_day IS NOT NULL)"
)
"""The same, also of days that were asked for with their first or their last one alone."""

SIGNED_WHOLE = """
-- What is signed is the run's own row, its open differences, and the two people of the row, at that moment.
CREATE FUNCTION reconcile_signed_as(s reconcile_signoff) RETURNS boolean LANGUAGE sql STABLE
    SET search_path = public, pg_temp AS $$
    SELECT s.signed ->> 'run' = r.id::text AND s.signed #>> '{provenance,run}' = r.uid::text
        AND s.signed #>> '{provenance,digest}' = r.digest
        AND s.signed -> 'classes' = r.classes AND s.signed -> 'totals' = r.totals
        AND s.signed -> 'residual' = r.residual
        AND s.signed -> 'tie_out' ?& ARRAY['opening', 'new', 'lines', 'waived', 'ledger', 'destination']
        AND NOT EXISTS (
            SELECT FROM jsonb_each(s.signed -> 'tie_out') AS told
            WHERE told.key NOT IN ('lines', 'waived')
                AND told.value <> coalesce(r.tie -> told.key, '{}'::jsonb)
        )
        AND s.signed #>> '{prepared,by}' = s.maker AND s.signed #>> '{signed,by}' = s.decided_by
        AND (s.signed #>> '{prepared,at}')::timestamptz = s.made_at
        AND (s.signed #>> '{signed,at}')::timestamptz = s.decided_at
        AND (
            SELECT array_agg(ARRAY[one ->> 'class', coalesce(one ->> 'reference', ''), one ->> 'currency',
                trim_scale((one ->> 'amount')::numeric)::text] ORDER BY place)
            FROM jsonb_array_elements(s.signed -> 'open') WITH ORDINALITY AS told (one, place)
        ) IS NOT DISTINCT FROM (
            SELECT array_agg(ARRAY[f.item_class::text, f.reference::text, nullif(f.currency::text, ''),
                trim_scale(CASE f.currency WHEN '' THEN 0 * f.amount ELSE f.amount END)::text
            ] ORDER BY f.id)
            FROM reconcile_finding AS f WHERE f.run_id = r.id AND f.is_open
        )
    FROM reconcile_run AS r WHERE r.id = s.run_id
$$;

CREATE FUNCTION reconcile_signed_whole() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.decided_at NOT BETWEEN greatest(NEW.made_at, tieout_now() - interval '5 minutes') AND tieout_now()
        OR jsonb_typeof(NEW.signed) <> 'object' OR jsonb_typeof(NEW.signed -> 'open') IS DISTINCT FROM 'array'
        OR jsonb_typeof(NEW.signed -> 'tie_out') IS DISTINCT FROM 'object'
        OR NEW.signed_digest !~ '^[0-9a-f]{64}$' THEN
        RAISE EXCEPTION 'what is signed is whole, and of now' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT coalesce(reconcile_signed_as(NEW), false) THEN
        RAISE EXCEPTION 'what is signed is what the run came to' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- After the rules about who signs have spoken.
CREATE TRIGGER signoff_whole AFTER UPDATE ON reconcile_signoff FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer = 'approved' AND NEW.way = 'sign')
    EXECUTE FUNCTION reconcile_signed_whole();
"""
SIGNED_ANYHOW = """
DROP TRIGGER signoff_whole ON reconcile_signoff;
DROP FUNCTION reconcile_signed_whole(), reconcile_signed_as(reconcile_signoff);
"""
