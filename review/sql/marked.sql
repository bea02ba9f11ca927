-- A list of many that waits for a second person is due, too: it is marked once, while it waits, and until when a key
-- protects what is on it stands with the list.
CREATE TRIGGER bulk_marked_once BEFORE UPDATE ON review_bulk FOR EACH ROW
    WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at AND (OLD.escalated_at IS NOT NULL OR NEW.status <> 'asked'))
    EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER bulk_window_stays BEFORE UPDATE ON review_bulk FOR EACH ROW
    WHEN (OLD.status <> 'preview' AND OLD.key_until IS DISTINCT FROM NEW.key_until)
    EXECUTE FUNCTION ledger_refuse();
CREATE CONSTRAINT TRIGGER bulk_mark_told AFTER UPDATE ON review_bulk DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at)
    EXECUTE FUNCTION ledger_mark_told('bulk');
