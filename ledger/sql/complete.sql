-- A success under a living token: attempt, operation and event in one statement. No row comes back where the
-- token is void, the attempt is closed, or more has happened than `revision_max` allows for and it is not asked
-- for the whole story; the long way then says why. The operation's row comes first, as everywhere: two that took
-- the rows in two orders would wait for each other.
-- The rows are found by their unique ids, and by nothing that a partial index answers (hence no state and no
-- closed_at: the lease and the outcome say the same): a plan that was made while few were open must not read all
-- that are open when they are many.
WITH told AS MATERIALIZED (
    SELECT id, operation_id, number, token_hash FROM ledger_attempt WHERE uid = %(attempt_uid)s::uuid
), target AS (
    SELECT told.id AS attempt_id
    FROM told JOIN ledger_operation AS o ON o.id = told.operation_id
    WHERE told.token_hash = %(token_hash)s::text AND o.attempt_count = told.number AND o.lease_until IS NOT NULL
        AND (%(whole_story)s OR (o.revision <= %(revision_max)s AND o.corrects_id IS NULL))
    FOR NO KEY UPDATE OF o
), attempt AS (
    UPDATE ledger_attempt AS a
    SET outcome = 'succeeded', closed_at = tieout_now(), sender_ended_at = tieout_now(),
        started_at = COALESCE(started_at, claimed_at), destination_reference = %(reference)s::text,
        http_status = %(http_status)s::smallint, replayed = %(replayed)s, outcome_digest = %(outcome_digest)s::text
    WHERE a.id = (SELECT attempt_id FROM target) AND a.token_hash = %(token_hash)s::text AND a.outcome IS NULL
    RETURNING a.id, a.operation_id, a.started_at
), operation AS (
    UPDATE ledger_operation AS o
    SET state = 'completed', lease_until = NULL, finished_at = tieout_now(), changed_at = tieout_now(),
        first_sent_at = COALESCE(o.first_sent_at, attempt.started_at), taken_at = NULL,
        evidence = 'answer', evidence_by = %(actor)s::text, destination_reference = %(reference)s::text,
        revision = revision + 1
    FROM attempt
    WHERE o.id = attempt.operation_id
    RETURNING o.*
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), operation.id, attempt.id, 'recorded', %(actor)s::text, 'The destination confirmed it.',
        'running', 'completed', operation.revision, %(data)s::jsonb
    FROM operation, attempt
)
SELECT operation.id, uid, operation_type_id, t.name AS type_name, key, state, description, subject, amount, currency, source_system,
    source_reference, source_version, accepted_at, operation.changed_at, next_try_at, look_at, held_at,
    corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause
FROM operation JOIN ledger_operationtype AS t ON t.id = operation_type_id
