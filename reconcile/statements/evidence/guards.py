"""What the database refuses about kept comparisons, as SQL; frozen with its migration."""

GUARDS = """
CREATE FUNCTION reconcile_kept_stays() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT ledger_is_person(NEW.keeper) THEN
            RAISE EXCEPTION 'a person keeps a comparison' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'what is kept never changes' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.until > tieout_now() THEN
        RAISE EXCEPTION 'what is kept stays until its end' USING ERRCODE = 'check_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER kept_stays BEFORE INSERT OR UPDATE OR DELETE ON reconcile_kept
    FOR EACH ROW EXECUTE FUNCTION reconcile_kept_stays();
CREATE TRIGGER kept_no_truncate BEFORE TRUNCATE ON reconcile_kept
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE FUNCTION reconcile_kept_piece_stays() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' OR EXISTS (
        SELECT FROM reconcile_kept AS k WHERE k.id = OLD.kept_id AND k.until > tieout_now()
    ) THEN
        RAISE EXCEPTION 'what is kept stays as it is until its end' USING ERRCODE = 'check_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER kept_piece_stays BEFORE UPDATE OR DELETE ON reconcile_keptpiece
    FOR EACH ROW EXECUTE FUNCTION reconcile_kept_piece_stays();
CREATE TRIGGER kept_piece_no_truncate BEFORE TRUNCATE ON reconcile_keptpiece
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
"""
NO_GUARDS = """
DROP TRIGGER kept_piece_no_truncate ON reconcile_keptpiece;
DROP TRIGGER kept_piece_stays ON reconcile_keptpiece;
DROP FUNCTION reconcile_kept_piece_stays();
DROP TRIGGER kept_no_truncate ON reconcile_kept;
DROP TRIGGER kept_stays ON reconcile_kept;
DROP FUNCTION reconcile_kept_stays();
"""
