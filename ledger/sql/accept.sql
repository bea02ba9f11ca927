-- Accept an operation and, where the caller performs it, claim it in the same breath: operation, attempt and
-- events in one statement. No row comes back where the rules of its type are no longer the ones that it was
-- prepared by. Where the key is taken, whoever wrote it first decides: that row comes back, or one without an id
-- where it was written just now. While the destination is paused nothing is claimed: the operation only waits. So does
-- one that comes after another, whatever that one's state: what is decided next lets it go.
-- The insert may wait long for a key that is then given up. A lease that has lost more than a second by that is
-- left out, which no attempt can be without: nothing is written then.
WITH asked AS (
    SELECT t.contract, t.rules_version, d.account, %(claimed)s AND NOT EXISTS (
        SELECT FROM ledger_pause WHERE destination_id = d.id AND resumed_at IS NULL
    ) AS claimed
    FROM ledger_operationtype AS t JOIN ledger_destination AS d ON d.id = t.destination_id
    WHERE t.id = %(type_id)s AND t.xmin::text || '/' || d.xmin::text = %(version)s::text
), operation AS (
    INSERT INTO ledger_operation (
        uid, operation_type_id, key, state, description, subject, amount, currency,
        source_system, source_reference, source_version, payload_digest, leaf_digests, payload_sealed,
        idempotency_key, generation, first_sent_at, contract_first, account_first, revision, attempt_count,
        lease_until, next_try_at, look_count, destination_reference, evidence, evidence_by, first_cause, after_id
    )
    SELECT
        %(uid)s::uuid, %(type_id)s, %(key)s::text, CASE WHEN claimed THEN 'running' ELSE 'pending' END,
        %(description)s::text, %(subject)s::text, %(amount)s::numeric, %(currency)s::text,
        %(source_system)s::text, %(source_reference)s::text, %(source_version)s::text,
        %(payload_digest)s::text, %(leaves)s::jsonb, %(payload_sealed)s::bytea,
        %(idempotency_key)s::text, 1,
        CASE WHEN claimed AND %(started)s THEN tieout_now() END,
        CASE WHEN claimed THEN contract END,
        CASE WHEN claimed THEN account ELSE '' END,
        1, CASE WHEN claimed THEN 1 ELSE 0 END,
        CASE WHEN claimed THEN tieout_now() + make_interval(secs => %(lease_s)s) END,
        CASE WHEN NOT claimed AND %(after_id)s::bigint IS NULL THEN tieout_now() END,
        0, '', '', '', '', %(after_id)s::bigint
    FROM asked
    ON CONFLICT (operation_type_id, key) DO NOTHING
    RETURNING *
), attempt AS (
    INSERT INTO ledger_attempt (
        uid, operation_id, number, caller_id, token_hash, actor, run, idempotency_key, payload_digest,
        lease_until, started_at, error_code, message, destination_reference, outcome_digest, rules_version
    )
    SELECT %(attempt_uid)s::uuid, id, 1, %(caller_id)s::uuid, %(token_hash)s::text, %(actor)s::text, %(run)s::text,
        idempotency_key, payload_digest,
        CASE WHEN lease_until > tieout_now() + make_interval(secs => %(lease_s)s - 1) THEN lease_until END,
        first_sent_at, '', '', '', '', (SELECT rules_version FROM asked)
    FROM operation WHERE state = 'running'
    RETURNING id
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), id, NULL, 'accepted', %(actor)s::text, 'Handed over.', '', state, 1, %(data)s::jsonb
    FROM operation
    UNION ALL
    SELECT gen_random_uuid(), operation.id, attempt.id, 'claimed', %(actor)s::text, 'First try.', '', state, 1,
        '{}'::jsonb
    FROM operation, attempt
), found AS (
    SELECT id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
        source_reference, source_version, payload_digest, idempotency_key, accepted_at, changed_at, first_sent_at,
        lease_until, next_try_at, held_at, corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause,
        true AS created, NULL::timestamptz AS read_at, NULL::bigint AS claimed_for
    FROM operation
    UNION ALL
    SELECT id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
        source_reference, source_version, payload_digest, idempotency_key, accepted_at, changed_at, first_sent_at,
        lease_until, next_try_at, held_at, corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause,
        false, tieout_now(), (SELECT operation_id FROM ledger_attempt WHERE caller_id = %(caller_id)s::uuid)
    FROM ledger_operation
    WHERE operation_type_id = %(type_id)s AND key = %(key)s::text AND NOT EXISTS (SELECT FROM operation)
)
SELECT found.*, attempt.id AS attempt_id
FROM asked LEFT JOIN found ON true LEFT JOIN attempt ON true
