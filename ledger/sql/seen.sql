-- What the register has seen: who brought and claimed each type's latest operations, and how that went. It reads so
-- many operations of each type, however many there are.
WITH latest AS (
    SELECT t.name AS type_name, o.*
    FROM ledger_operationtype AS t CROSS JOIN LATERAL (
        SELECT id, state, source_system, source_reference, source_version, amount, currency, payload_digest, corrects_id
        FROM ledger_operation WHERE operation_type_id = t.id ORDER BY accepted_at DESC LIMIT %(latest)s
    ) AS o
),
-- The same record of the source, with the same amount or payload, under more than one key.
doubled AS (
    SELECT type_name, count(*) AS sources FROM (
        SELECT type_name FROM latest WHERE source_reference <> '' AND corrects_id IS NULL
        GROUP BY type_name, source_system, source_reference, source_version,
            coalesce(amount || currency, payload_digest)
        HAVING count(*) > 1
    ) AS source GROUP BY type_name
),
-- One operation after the other, each by its index: joined at once, all events there are might be read.
brought AS (
    SELECT l.type_name, e.actor, count(*) AS operations
    FROM latest AS l CROSS JOIN LATERAL (
        SELECT actor FROM ledger_event WHERE operation_id = l.id AND kind = 'accepted' ORDER BY id LIMIT 1
    ) AS e
    WHERE e.actor LIKE 'api:%%' GROUP BY l.type_name, e.actor
),
claimed AS (
    SELECT l.type_name, a.actor, count(*) AS claims, count(DISTINCT l.id) AS claimed,
        count(a.caller_id) AS with_id, count(*) FILTER (WHERE a.error_code = 'lease_expired') AS silent,
        count(*) FILTER (WHERE a.error_code = 'lease_expired' AND l.state = 'uncertain') AS doubted,
        sum(a.again) AS again
    FROM latest AS l CROSS JOIN LATERAL (
        SELECT actor, caller_id, error_code, (
            SELECT count(*) - 1 FROM ledger_event WHERE operation_id = l.id AND attempt_id = one.id AND kind = 'claimed'
        ) AS again
        FROM ledger_attempt AS one WHERE operation_id = l.id ORDER BY number LIMIT 100
    ) AS a
    WHERE a.actor LIKE 'api:%%' GROUP BY l.type_name, a.actor
)
SELECT type_name, actor, coalesce(operations, 0) AS operations, coalesce(claims, 0) AS claims,
    coalesce(claimed, 0) AS claimed, coalesce(with_id, 0) AS with_id, coalesce(silent, 0) AS silent,
    coalesce(doubted, 0) AS doubted,
    greatest(coalesce(again, 0), 0)::bigint AS again, 0 AS sources
FROM brought FULL JOIN claimed USING (type_name, actor)
UNION ALL
SELECT type_name, NULL, 0, 0, 0, 0, 0, 0, 0, sources FROM doubled
ORDER BY type_name, actor
