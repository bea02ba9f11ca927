-- What a run came to is told to its plan's recipients: one message for each address, written with the run's end, whoever
-- ends it and however. What a dry run comes to is told to nobody else.
CREATE FUNCTION review_report_of_run() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_channel (name) SELECT 'mail'
    WHERE NOT EXISTS (SELECT FROM review_channel WHERE name = 'mail')
    ON CONFLICT DO NOTHING;
    INSERT INTO review_message (uid, channel_id, address, about, run_id, lines, state, words)
    SELECT gen_random_uuid(), c.id, told.address, 'run ' || NEW.id, NEW.id, '[]', 'waiting', ''
    FROM review_channel AS c CROSS JOIN (
        SELECT DISTINCT lower(one) AS address
        FROM reconcile_plan AS p CROSS JOIN LATERAL jsonb_array_elements_text(p.recipients) AS one
        WHERE p.id = NEW.plan_id
    ) AS told
    WHERE c.name = 'mail'
    ORDER BY told.address
    ON CONFLICT (about, address) WHERE address <> '' DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER run_reported AFTER UPDATE OF state ON reconcile_run FOR EACH ROW
    WHEN (OLD.state = 'running' AND NEW.state <> 'running' AND NOT NEW.dry_run)
    EXECUTE FUNCTION review_report_of_run();

CREATE OR REPLACE FUNCTION review_message_same() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND (OLD.uid, OLD.channel_id, OLD.person_id, OLD.day, OLD.address, OLD.about, OLD.run_id, OLD.lines, OLD.made_at)
        IS NOT DISTINCT FROM
            (NEW.uid, NEW.channel_id, NEW.person_id, NEW.day, NEW.address, NEW.about, NEW.run_id, NEW.lines, NEW.made_at)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'what a message says never changes, and what waits stays' USING ERRCODE = 'check_violation';
END $$;
