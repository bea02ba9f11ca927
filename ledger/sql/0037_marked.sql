-- Whatever is asked is marked once as past its due time, while nobody has answered, and policy says so in an event of the
-- same transaction. A table says how its events name the request.
CREATE FUNCTION ledger_mark_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE kind = 'escalated' AND actor = 'policy' AND data ->> TG_ARGV[0] = NEW.uid::text
            AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION '% % is past its due time without an event', TG_ARGV[0], NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER approval_marked_once BEFORE UPDATE ON ledger_approval FOR EACH ROW
    WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at AND (OLD.escalated_at IS NOT NULL OR NEW.answer <> ''))
    EXECUTE FUNCTION ledger_refuse();
