-- An address is one by its local part as it is written, and by its domain in small letters: only the domain is the same
-- in any letters (RFC 5321, 2.4).
CREATE FUNCTION review_address(given text) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = public, pg_temp AS $$
    SELECT substring(given FROM '^(.*@)[^@]*$') || lower(substring(given FROM '[^@]*$'))
$$;
CREATE OR REPLACE FUNCTION review_report_of_run() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_channel (name) SELECT 'mail'
    WHERE NOT EXISTS (SELECT FROM review_channel WHERE name = 'mail')
    ON CONFLICT DO NOTHING;
    INSERT INTO review_message (uid, channel_id, address, about, run_id, lines, state, words)
    SELECT gen_random_uuid(), c.id, told.address, 'run ' || NEW.id, NEW.id, '[]', 'waiting', ''
    FROM review_channel AS c CROSS JOIN (
        SELECT DISTINCT review_address(one) AS address
        FROM reconcile_plan AS p CROSS JOIN LATERAL jsonb_array_elements_text(p.recipients) AS one
        WHERE p.id = NEW.plan_id
    ) AS told
    WHERE c.name = 'mail'
    ORDER BY told.address
    ON CONFLICT (about, address) WHERE address <> '' DO NOTHING;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION review_mail_of_missed() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO review_channel (name) SELECT 'mail'
    WHERE NOT EXISTS (SELECT FROM review_channel WHERE name = 'mail')
    ON CONFLICT DO NOTHING;
    INSERT INTO review_message (uid, channel_id, address, about, lines, state, words)
    SELECT gen_random_uuid(), c.id, told.address, 'event ' || NEW.id,
        jsonb_build_array(jsonb_build_array(rtrim(NEW.reason, '.'), '/runs/')), 'waiting', ''
    FROM review_channel AS c CROSS JOIN (
        SELECT DISTINCT review_address(one) AS address
        FROM reconcile_plan AS p CROSS JOIN LATERAL jsonb_array_elements_text(p.recipients) AS one
        WHERE p.name = NEW.data ->> 'plan'
    ) AS told
    WHERE c.name = 'mail'
    ORDER BY told.address;
    RETURN NULL;
END $$;
