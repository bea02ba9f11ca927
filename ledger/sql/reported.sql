-- Where the operations of these attempts stand, and whether the very same was reported of an attempt before: it is closed,
-- under this token and with this outcome. Each row is found by a unique id, as in complete.sql.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb) AS item (
        at integer, attempt_uid uuid, token_hash text, outcome_digest text
    )
)
SELECT at, o.id, o.uid, operation_type_id, t.name AS type_name, key, state, description, subject, amount, currency,
    source_system, source_reference, source_version, accepted_at, o.changed_at, next_try_at, look_at, held_at,
    corrects_id, corrected_at, after_id, o.destination_reference, evidence, first_cause,
    a.outcome IS NOT NULL AND a.token_hash = item.token_hash AND a.outcome_digest = item.outcome_digest AS known
FROM item
    CROSS JOIN LATERAL (SELECT * FROM ledger_attempt WHERE uid = item.attempt_uid LIMIT 1) AS a
    CROSS JOIN LATERAL (SELECT * FROM ledger_operation WHERE id = a.operation_id LIMIT 1) AS o
    JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
