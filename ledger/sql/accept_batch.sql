-- Accept and claim many operations at once: what accept.sql does for one that its caller performs, for each of the
-- items by itself. Whoever wrote a key first decides: its row comes back as it stood when this began. Nothing comes
-- back of an item that has to go alone: its rules are outdated, its key was written just now, or it is new and its
-- destination is paused or its attempt_id known.
-- All operations in the order of their keys, and only then all attempts in the order of their ids: two batches that
-- took them in two orders would wait for each other.
-- A lease that has lost more than a second by waiting is left out, as in accept.sql: nothing is written then.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb) AS item (
        at integer, uid uuid, type_id bigint, version text, key text, description text, subject text, amount numeric,
        currency text, source_system text, source_reference text, source_version text, payload_digest text,
        leaves jsonb, idempotency_key text, run text, data jsonb, started boolean, lease_s double precision,
        attempt_uid uuid, caller_id uuid, token_hash text
    )
), asked AS MATERIALIZED (
    SELECT item.*, t.contract, t.rules_version, d.account,
        (SELECT operation_id FROM ledger_attempt WHERE ledger_attempt.caller_id = item.caller_id) AS claimed_for,
        EXISTS (SELECT FROM ledger_pause WHERE destination_id = d.id AND resumed_at IS NULL) AS paused
    FROM item
        JOIN ledger_operationtype AS t ON t.id = item.type_id
        JOIN ledger_destination AS d ON d.id = t.destination_id
    WHERE CASE WHEN t.xmin::text || '/' || d.xmin::text = item.version THEN true ELSE false END
), operation AS (
    INSERT INTO ledger_operation (
        uid, operation_type_id, key, state, description, subject, amount, currency,
        source_system, source_reference, source_version, payload_digest, leaf_digests,
        idempotency_key, generation, first_sent_at, contract_first, account_first, revision, attempt_count,
        lease_until, look_count, destination_reference, evidence, evidence_by, first_cause
    )
    SELECT
        uid, type_id, key, 'running', description, subject, amount, currency,
        source_system, source_reference, source_version, payload_digest, leaves,
        idempotency_key, 1, CASE WHEN started THEN tieout_now() END, contract, account, 1, 1,
        tieout_now() + make_interval(secs => lease_s), 0, '', '', '', ''
    FROM asked
    WHERE CASE WHEN claimed_for IS NULL AND NOT paused THEN true ELSE false END
    ORDER BY type_id, key
    ON CONFLICT (operation_type_id, key) DO NOTHING
    RETURNING *
), attempt AS (
    INSERT INTO ledger_attempt (
        uid, operation_id, number, caller_id, token_hash, actor, run, idempotency_key, payload_digest,
        lease_until, started_at, error_code, message, destination_reference, outcome_digest, rules_version
    )
    SELECT asked.attempt_uid, operation.id, 1, asked.caller_id, asked.token_hash, %(actor)s::text, asked.run,
        operation.idempotency_key, operation.payload_digest,
        CASE WHEN lease_until > tieout_now() + make_interval(secs => asked.lease_s - 1) THEN lease_until END,
        first_sent_at, '', '', '', '', asked.rules_version
    FROM operation JOIN asked ON asked.uid = operation.uid
    ORDER BY asked.caller_id, operation.id
    RETURNING id, operation_id
), event AS (
    INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data)
    SELECT gen_random_uuid(), operation.id, NULL, 'accepted', %(actor)s::text, 'Handed over.', '', state, 1, asked.data
    FROM operation JOIN asked ON asked.uid = operation.uid
    UNION ALL
    SELECT gen_random_uuid(), operation.id, attempt.id, 'claimed', %(actor)s::text, 'First try.', '', state, 1,
        '{}'::jsonb
    FROM operation JOIN attempt ON attempt.operation_id = operation.id
), found AS (
    SELECT asked.at, operation.*, true AS created, NULL::timestamptz AS read_at, NULL::bigint AS claimed_for
    FROM operation JOIN asked ON asked.uid = operation.uid
    UNION ALL
    SELECT asked.at, known.*, false, tieout_now(), asked.claimed_for
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM ledger_operation WHERE operation_type_id = asked.type_id AND ledger_operation.key = asked.key LIMIT 1
    ) AS known
    WHERE asked.uid NOT IN (SELECT uid FROM operation)
)
SELECT at, found.id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
    source_reference, source_version, payload_digest, found.idempotency_key, accepted_at, changed_at, first_sent_at,
    lease_until, next_try_at, held_at, corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause,
    created, read_at, claimed_for, attempt.id AS attempt_id
FROM found LEFT JOIN attempt ON attempt.operation_id = found.id
