-- The items right before and right after one, by money at risk × age, as in shells.sql: read in shells that begin thin on either
-- side of it, a sixteenth of a power of two, and double: a neighbour is next to nothing away, or there is next to nothing.
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
)
SELECT side.after, found.rank, found.id, found.operation_id
FROM (VALUES (FALSE), (TRUE)) AS side (after) CROSS JOIN LATERAL (
    SELECT nearest.*
    FROM generate_series(0, 11) AS number
    CROSS JOIN LATERAL (SELECT (power(2, number) - 1) / 16 AS near, (power(2, number + 1) - 1) / 16 AS far) AS depth
    CROSS JOIN LATERAL (
        SELECT CASE WHEN side.after THEN %(rank)s::float8 / power(2::float8, near)
                WHEN number < 11 THEN %(rank)s::float8 * power(2::float8, far) ELSE '-Infinity' END AS first,
            CASE WHEN NOT side.after THEN %(rank)s::float8 * power(2::float8, near)
                WHEN number < 11 THEN %(rank)s::float8 / power(2::float8, far) ELSE 'Infinity' END AS beyond
    ) AS shell
    CROSS JOIN LATERAL (
        SELECT lay.rank, lay.id, lay.operation_id
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
        WHERE lay.rank >= first AND lay.rank <= beyond AND CASE WHEN side.after
            THEN (lay.rank, lay.id) > (%(rank)s::float8, %(pk)s) ELSE (lay.rank, lay.id) < (%(rank)s::float8, %(pk)s) END
        ORDER BY CASE WHEN side.after THEN lay.rank ELSE -lay.rank END, CASE WHEN side.after THEN lay.id ELSE -lay.id END
        LIMIT 1
    ) AS nearest
    LIMIT 1
) AS found
