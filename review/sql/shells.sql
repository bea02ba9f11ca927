-- The next items by money at risk × age, exactly in that order, read in shells of the product from the largest down.
-- A lane is a currency and a band of amounts, or a type without amounts; of a lane a shell takes one piece of the index
-- by age, and leaves out what of it lies in other shells. Nothing is read beyond the shell in which the page is full:
-- the shells are gone through in their order, each in its own, and no outer sort waits for the last.
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
        greatest(unit * CASE currency WHEN '' THEN 1 ELSE power(2::float8, band + 1) END, %(least)s) AS high,
        (SELECT since_s FROM review_item AS i WHERE i.currency = step.currency AND i.band = step.band ORDER BY since_s LIMIT 1)
            AS oldest_s
    FROM step CROSS JOIN LATERAL (SELECT CASE currency
        WHEN '' THEN coalesce((%(priorities)s::jsonb ->> band::text)::float8, 0)
        ELSE coalesce((%(rates)s::jsonb ->> currency)::float8, 1) END AS unit) AS weight
    WHERE %(currency)s IN ('', step.currency)
), edge AS MATERIALIZED (
    SELECT greatest(1e-6, least(max(high * (%(at)s - oldest_s)), -%(rank)s::float8)) * (1 + 1e-9) AS top FROM lane
), shell AS (
    -- The last one has no end: what is younger than the instant is there, too.
    SELECT number, -top / power(2::float8, number) AS first,
        CASE number WHEN 90 THEN 'Infinity' ELSE -top / power(2::float8, number + 1) END AS beyond
    FROM edge CROSS JOIN generate_series(0, 90) AS number
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
    WHERE lay.rank >= first AND lay.rank < beyond AND (%(rank)s::float8 IS NULL OR lay.rank >= %(rank)s)
        AND (%(rank)s::float8 IS NULL OR lay.rank > %(rank)s OR lay.id > %(pk)s)
    ORDER BY rank, id
    LIMIT %(length)s
) AS found
LIMIT %(length)s
