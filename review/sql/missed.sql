-- What was due and has not started, or is late, is mailed to its plan's recipients, once for each event that says so. One that
-- broke off is mailed with the end of its run.
CREATE FUNCTION review_mail_of_missed() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_channel (name) SELECT 'mail'
    WHERE NOT EXISTS (SELECT FROM review_channel WHERE name = 'mail')
    ON CONFLICT DO NOTHING;
    INSERT INTO review_message (uid, channel_id, address, about, lines, state, words)
    SELECT gen_random_uuid(), c.id, told.address, 'event ' || NEW.id,
        jsonb_build_array(jsonb_build_array(rtrim(NEW.reason, '.'), '/runs/')), 'waiting', ''
    FROM review_channel AS c CROSS JOIN (
        SELECT DISTINCT lower(one) AS address
        FROM reconcile_plan AS p CROSS JOIN LATERAL jsonb_array_elements_text(p.recipients) AS one
        WHERE p.name = NEW.data ->> 'plan'
    ) AS told
    WHERE c.name = 'mail'
    ORDER BY told.address;
    RETURN NULL;
END $$;
CREATE TRIGGER event_missed AFTER INSERT ON ledger_event FOR EACH ROW
    WHEN (NEW.kind IN ('run_not_started', 'run_late'))
    EXECUTE FUNCTION review_mail_of_missed();
