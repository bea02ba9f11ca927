-- Accept an operation and, where the caller performs it, claim it in the same breath: operation, attempt and
-- events in one statement. No row comes back where the key is taken: whoever wrote it first decides. While the
-- destination is paused nothing is claimed: the operation only waits.
WITH asked AS (
    SELECT %(claimed)s AND NOT EXISTS (
        SELECT FROM ledger_pause AS pause JOIN ledger_operationtype AS kind USING (destination_id)
        WHERE kind.id = %(type_id)s AND pause.resumed_at IS NULL
    ) AS claimed
), operation AS (
    INSERT INTO ledger_operation (
        uid, operation_type_id, key, state, description, subject, amount, currency,
        source_system, source_reference, source_version, payload_digest, leaf_digests, payload_sealed,
        idempotency_key, generation, first_sent_at, contract_first, account_first, revision, attempt_count,
        lease_until, next_try_at, look_count, destination_reference, evidence, evidence_by, first_cause
    )
    SELECT
        %(uid)s, %(type_id)s, %(key)s, CASE WHEN claimed THEN 'running' ELSE 'pending' END,
        %(description)s, %(subject)s, %(amount)s, %(currency)s,
        %(source_system)s, %(source_reference)s, %(source_version)s,
        %(payload_digest)s, %(leaf_digests)s::jsonb, %(payload_sealed)s,
        %(idempotency_key)s, 1,
        CASE WHEN claimed AND %(started)s THEN tieout_now() END,
        CASE WHEN claimed THEN %(contract)s::jsonb END, CASE WHEN claimed THEN %(account)s ELSE '' END,
        1, CASE WHEN claimed THEN 1 ELSE 0 END,
        CASE WHEN claimed THEN tieout_now() + make_interval(secs => %(lease_s)s) END,
        CASE WHEN NOT claimed THEN tieout_now() END,
        0, '', '', '', ''
    FROM asked
    ON CONFLICT (operation_type_id, key) DO NOTHING
    RETURNING id, lease_until, payload_digest, idempotency_key, state
), attempt AS (
    INSERT INTO ledger_attempt (
        uid, operation_id, number, caller_id, token_hash, actor, run, idempotency_key, payload_digest,
        lease_until, started_at, error_code, message, destination_reference, outcome_digest
    )
    SELECT %(attempt_uid)s, id, 1, %(caller_id)s, %(token_hash)s, %(actor)s, %(run)s, idempotency_key, payload_digest,
        lease_until, CASE WHEN %(started)s THEN tieout_now() END, '', '', '', ''
    FROM operation WHERE state = 'running'
    RETURNING id
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), id, NULL, 'accepted', %(actor)s, 'Handed over.', '', state, 1, %(data)s::jsonb
    FROM operation
    UNION ALL
    SELECT gen_random_uuid(), operation.id, attempt.id, 'claimed', %(actor)s, 'First try.', '', state, 1, '{}'::jsonb
    FROM operation, attempt
)
SELECT id, extract(epoch FROM lease_until - tieout_now()) AS lease_left_s FROM operation
