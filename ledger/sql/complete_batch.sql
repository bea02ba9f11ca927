-- Many successes under living tokens at once: what complete.sql does for one that is not asked for the whole story.
-- No row comes back of an item that has to go alone. The operations' rows come first, in the order of their ids: two
-- batches that took them in two orders would wait for each other.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb) AS item (
        at integer, attempt_uid uuid, token_hash text, reference text, http_status smallint, outcome_digest text,
        data jsonb
    )
), told AS MATERIALIZED (
    SELECT item.*, known.id AS attempt_id, known.operation_id, known.number
    FROM item CROSS JOIN LATERAL (
        SELECT id, operation_id, number, token_hash FROM ledger_attempt WHERE uid = item.attempt_uid LIMIT 1
    ) AS known
    WHERE CASE WHEN known.token_hash = item.token_hash THEN true ELSE false END
), target AS MATERIALIZED (
    SELECT o.id AS operation_id, told.attempt_id
    FROM told JOIN ledger_operation AS o ON o.id = told.operation_id
    WHERE CASE WHEN o.attempt_count = told.number AND o.lease_until IS NOT NULL
        AND o.revision <= %(revision_max)s AND o.corrects_id IS NULL THEN true ELSE false END
    ORDER BY o.id
    FOR NO KEY UPDATE OF o
), attempt AS (
    UPDATE ledger_attempt AS a
    SET outcome = 'succeeded', closed_at = tieout_now(), sender_ended_at = tieout_now(),
        started_at = COALESCE(a.started_at, a.claimed_at), destination_reference = told.reference,
        http_status = told.http_status, replayed = false, outcome_digest = told.outcome_digest
    FROM target JOIN told ON told.attempt_id = target.attempt_id
    WHERE a.id = target.attempt_id AND a.token_hash = told.token_hash AND a.outcome IS NULL
    RETURNING a.id, a.operation_id, a.started_at, told.at, told.reference, told.data
), operation AS (
    UPDATE ledger_operation AS o
    SET state = 'completed', lease_until = NULL, finished_at = tieout_now(), changed_at = tieout_now(),
        first_sent_at = COALESCE(o.first_sent_at, attempt.started_at), taken_at = NULL,
        evidence = 'answer', evidence_by = %(actor)s::text, destination_reference = attempt.reference,
        revision = revision + 1
    FROM attempt
    WHERE o.id = attempt.operation_id
    RETURNING o.*, attempt.at, attempt.id AS attempt_id, attempt.data
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), id, attempt_id, 'recorded', %(actor)s::text, 'The destination confirmed it.',
        'running', 'completed', revision, data
    FROM operation
)
SELECT at, operation.id, uid, operation_type_id, t.name AS type_name, key, state, description, subject, amount, currency,
    source_system, source_reference, source_version, accepted_at, operation.changed_at, next_try_at, look_at, held_at,
    corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause
FROM operation JOIN ledger_operationtype AS t ON t.id = operation_type_id
