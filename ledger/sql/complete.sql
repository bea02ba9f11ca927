-- A success under a living token: attempt, operation and event in one statement. No row comes back where the
-- token is void or the attempt is closed; the long way then says why.
WITH attempt AS (
    UPDATE ledger_attempt
    SET outcome = 'succeeded', closed_at = tieout_now(), sender_ended_at = tieout_now(),
        started_at = COALESCE(started_at, claimed_at), destination_reference = %(reference)s,
        http_status = %(http_status)s, outcome_digest = %(outcome_digest)s
    WHERE uid = %(attempt_uid)s AND token_hash = %(token_hash)s AND closed_at IS NULL
    RETURNING id, operation_id, number
), operation AS (
    UPDATE ledger_operation AS o
    SET state = 'completed', lease_until = NULL, finished_at = tieout_now(), changed_at = tieout_now(),
        evidence = 'answer', evidence_by = %(actor)s, destination_reference = %(reference)s, revision = revision + 1
    FROM attempt
    WHERE o.id = attempt.operation_id AND o.state = 'running' AND o.attempt_count = attempt.number
    RETURNING o.id, o.revision
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), operation.id, attempt.id, 'recorded', %(actor)s, 'The destination confirmed it.',
        'running', 'completed', operation.revision, %(data)s::jsonb
    FROM operation, attempt
)
SELECT attempt.operation_id, operation.id FROM attempt LEFT JOIN operation ON true
