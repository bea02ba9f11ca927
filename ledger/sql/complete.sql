-- A success under a living token: attempt, operation and event in one statement. No row comes back where the
-- token is void or the attempt is closed; the long way then says why. The operation's row comes first, as
-- everywhere: two that took the rows in two orders would wait for each other.
WITH target AS (
    SELECT o.id AS operation_id, a.id AS attempt_id
    FROM ledger_operation AS o JOIN ledger_attempt AS a ON a.operation_id = o.id
    WHERE a.uid = %(attempt_uid)s AND a.token_hash = %(token_hash)s AND a.closed_at IS NULL
        AND o.state = 'running' AND o.attempt_count = a.number
    FOR NO KEY UPDATE OF o
), attempt AS (
    UPDATE ledger_attempt AS a
    SET outcome = 'succeeded', closed_at = tieout_now(), sender_ended_at = tieout_now(),
        started_at = COALESCE(started_at, claimed_at), destination_reference = %(reference)s,
        http_status = %(http_status)s, replayed = %(replayed)s, outcome_digest = %(outcome_digest)s
    FROM target
    WHERE a.id = target.attempt_id AND a.token_hash = %(token_hash)s AND a.closed_at IS NULL
    RETURNING a.id, a.operation_id, a.started_at
), operation AS (
    UPDATE ledger_operation AS o
    SET state = 'completed', lease_until = NULL, finished_at = tieout_now(), changed_at = tieout_now(),
        first_sent_at = COALESCE(o.first_sent_at, attempt.started_at), taken_at = NULL,
        evidence = 'answer', evidence_by = %(actor)s, destination_reference = %(reference)s, revision = revision + 1
    FROM attempt
    WHERE o.id = attempt.operation_id
    RETURNING o.id, o.revision, o.corrects_id
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), operation.id, attempt.id, 'recorded', %(actor)s, 'The destination confirmed it.',
        'running', 'completed', operation.revision, %(data)s::jsonb
    FROM operation, attempt
)
SELECT id, revision, corrects_id FROM operation
