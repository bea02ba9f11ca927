-- Claims whose answers were lost: same attempt_id, same caller, not started. The token before is void, and an event tells
-- it. No row comes back where that is not so, or no longer, or its lease has ended. The operations' rows come first, in
-- the order of their ids; the lease is looked at once all of them are held.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb) AS item (
        at integer, operation_id bigint, caller_id uuid, token_hash text
    )
), target AS MATERIALIZED (
    SELECT o.id, o.lease_until
    FROM item JOIN ledger_operation AS o ON o.id = item.operation_id
    ORDER BY o.id
    FOR NO KEY UPDATE OF o
), living AS MATERIALIZED (
    SELECT item.* FROM target JOIN item ON item.operation_id = target.id WHERE target.lease_until > tieout_now()
), attempt AS (
    UPDATE ledger_attempt AS a
    SET token_hash = living.token_hash
    FROM living
    WHERE a.caller_id = living.caller_id AND a.operation_id = living.operation_id AND a.actor = %(actor)s::text
        AND a.started_at IS NULL AND a.outcome IS NULL
    RETURNING a.id, a.operation_id, a.uid, a.number, living.at
), operation AS (
    UPDATE ledger_operation AS o
    SET revision = revision + 1, changed_at = tieout_now()
    FROM attempt
    WHERE o.id = attempt.operation_id
    RETURNING o.*, attempt.at, attempt.id AS attempt_id, attempt.uid AS attempt_uid, attempt.number
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), id, attempt_id, 'claimed', %(actor)s::text,
        'The same claim again; the token before is void.', '', '', revision, '{}'::jsonb
    FROM operation
)
SELECT at, id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
    source_reference, source_version, payload_digest, idempotency_key, accepted_at, changed_at, first_sent_at,
    lease_until, next_try_at, held_at, corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause,
    attempt_id, attempt_uid, number
FROM operation
