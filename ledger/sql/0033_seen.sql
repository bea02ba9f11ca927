-- The destination's own ids of some records, as people find them by: in small letters.
CREATE FUNCTION ledger_record_ids(records jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = public, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT lower(record ->> 'id')) FILTER (WHERE record ->> 'id' <> ''), '{}')
    FROM jsonb_array_elements(CASE jsonb_typeof(records) WHEN 'array' THEN records ELSE '[]' END) AS record
$$;
