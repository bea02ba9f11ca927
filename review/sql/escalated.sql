-- Whose an item is, until when it rests, and how often it was escalated, is its case's; whatever happened to the
-- operation since has woken it.
CREATE OR REPLACE FUNCTION review_item_whose() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    NEW.assignee := '';
    NEW.rests_s := 0;
    NEW.level := 0;
    SELECT c.assignee, CASE
        WHEN c.snoozed_revision IS NOT DISTINCT FROM o.revision THEN coalesce(extract(epoch FROM c.snoozed_until), 0)
        ELSE 0 END, c.level
    INTO NEW.assignee, NEW.rests_s, NEW.level
    FROM ledger_case AS c LEFT JOIN ledger_operation AS o ON o.id = c.operation_id
    WHERE c.id = NEW.case_id;
    NEW.assignee := coalesce(NEW.assignee, '');
    NEW.rests_s := coalesce(NEW.rests_s, 0);
    NEW.level := coalesce(NEW.level, 0);
    RETURN NEW;
END $$;
