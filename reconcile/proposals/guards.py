"""What the database refuses about proposals, as SQL; frozen with its migration."""

GUARDS = """
CREATE TRIGGER proposal_stays BEFORE DELETE ON reconcile_proposal
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER proposal_no_truncate BEFORE TRUNCATE ON reconcile_proposal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION reconcile_proposal_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.decided_at IS NOT NULL THEN
            RAISE EXCEPTION 'a proposal is made before it is answered' USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := (SELECT id FROM auth_user WHERE username = NEW.maker);
        NEW.decided_by_account := NULL;
        RETURN NEW;
    END IF;
    IF OLD.decided_at IS NOT NULL THEN
        RAISE EXCEPTION 'a proposal is decided once' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.uid, OLD.kind, OLD.title, OLD.maker, OLD.maker_account, OLD.about_account, OLD.reason,
        OLD.command_id, OLD.made_at, OLD.expires_at, OLD.lines, OLD.data, OLD.digest)
        IS DISTINCT FROM
       (NEW.uid, NEW.kind, NEW.title, NEW.maker, NEW.maker_account, NEW.about_account, NEW.reason,
        NEW.command_id, NEW.made_at, NEW.expires_at, NEW.lines, NEW.data, NEW.digest)
       OR (NEW.meant_sealed IS NOT NULL AND NEW.meant_sealed IS DISTINCT FROM OLD.meant_sealed) THEN
        RAISE EXCEPTION 'what is proposed never changes' USING ERRCODE = 'check_violation';
    END IF;
    NEW.decided_by_account := (SELECT id FROM auth_user WHERE username = NEW.decided_by);
    RETURN NEW;
END $$;
CREATE TRIGGER proposal_once BEFORE INSERT OR UPDATE ON reconcile_proposal
    FOR EACH ROW EXECUTE FUNCTION reconcile_proposal_once();

CREATE FUNCTION reconcile_proposal_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND data->>'proposal' = NEW.uid::text
            AND actor = CASE WHEN NEW.decided_at IS NULL THEN NEW.maker ELSE NEW.decided_by END
            AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'proposal % without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER proposal_told AFTER INSERT OR UPDATE ON reconcile_proposal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reconcile_proposal_told();
"""

LIMITS = """
CREATE FUNCTION reconcile_limit_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND kind = 'entities_limited' AND tx = pg_current_xact_id()
            AND data->>'account' = (CASE TG_OP WHEN 'DELETE' THEN OLD.person_id ELSE NEW.person_id END)::text
            AND data->'entities' = CASE TG_OP WHEN 'DELETE' THEN '[]'::jsonb ELSE NEW.entities END
    ) THEN
        RAISE EXCEPTION 'what a person sees changes with an event' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER limit_told AFTER INSERT OR UPDATE OR DELETE ON reconcile_entitylimit
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reconcile_limit_told();
CREATE TRIGGER limit_no_truncate BEFORE TRUNCATE ON reconcile_entitylimit
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
"""
