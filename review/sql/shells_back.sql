-- The items before one, or before the end, the nearest first, by money at risk × age: as in shells.sql, from the least up.
WITH RECURSIVE step AS (
    (SELECT currency, band FROM review_item ORDER BY currency, band LIMIT 1)
    UNION ALL
    SELECT further.* FROM step CROSS JOIN LATERAL (
        SELECT currency, band FROM review_item
        WHERE (currency, band) > (step.currency, step.band) ORDER BY currency, band LIMIT 1
    ) AS further
), lane AS MATERIALIZED (
    SELECT currency, band, unit,
        -- An amount of nothing shares the lowest band.
        greatest(unit * CASE WHEN currency = '' THEN 1 WHEN band < -13 THEN 0 ELSE power(2::float8, band) END, %(least)s) AS low,
        greatest(unit * CASE currency WHEN '' THEN 1 ELSE power(2::float8, band + 1) END, %(least)s) AS high
    FROM step CROSS JOIN LATERAL (SELECT CASE currency
        WHEN '' THEN coalesce((%(priorities)s::jsonb ->> band::text)::float8, 0)
        ELSE coalesce((%(rates)s::jsonb ->> currency)::float8, 1) END AS unit) AS weight
    WHERE %(currency)s IN ('', step.currency)
), edge AS MATERIALIZED (
    SELECT greatest(1e-6, -%(rank)s::float8) * (1 - 1e-9) AS foot
), shell AS (
    -- The first one is what weighs nothing or is younger than the instant; the last one has no end.
    SELECT number, CASE number WHEN 90 THEN '-Infinity' ELSE -foot * power(2::float8, number) END AS first,
        CASE number WHEN 0 THEN 'Infinity' ELSE -foot * power(2::float8, number - 1) END AS beyond
    FROM edge CROSS JOIN generate_series(0, 90) AS number
    WHERE number > 0 OR %(rank)s::float8 IS NULL OR %(rank)s > -foot
)
SELECT found.rank, found.id, found.operation_id
FROM shell CROSS JOIN LATERAL (
    SELECT lay.id, lay.operation_id, lay.rank
    FROM lane CROSS JOIN LATERAL (
        SELECT review_item.id, review_item.operation_id,
            -1 * greatest(review_item.size * lane.unit, %(least)s) * (%(at)s - review_item.since_s) AS rank
        FROM (
            -- By itself, so that each lane is read off the index by rank, whatever else is asked for.
            SELECT * FROM review_item AS laid
            WHERE laid.currency = lane.currency AND laid.band = lane.band
                AND laid.since_s >= %(at)s + first / low * (1 + 1e-9) - 1e-3
                AND laid.since_s <= %(at)s + beyond / high * (1 - 1e-9) + 1e-3
            OFFSET 0
        ) AS review_item
        WHERE (/* where */ TRUE)
    ) AS lay
    WHERE lay.rank >= first AND lay.rank < beyond AND (%(rank)s::float8 IS NULL OR lay.rank <= %(rank)s)
        AND (%(rank)s::float8 IS NULL OR lay.rank < %(rank)s OR lay.id < %(pk)s)
    ORDER BY rank DESC, id DESC
    LIMIT %(length)s
) AS found
LIMIT %(length)s
