-- What is known of an operation by its key, for a claim that met another one's insert: what accept.sql says of one that
-- exists, when that was read, and which operation the claim's attempt_id belongs to.
SELECT id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
    source_reference, source_version, payload_digest, idempotency_key, accepted_at, changed_at, first_sent_at,
    lease_until, next_try_at, held_at, corrects_id, corrected_at, after_id, destination_reference, evidence, first_cause,
    tieout_now() AS read_at,
    (SELECT operation_id FROM ledger_attempt WHERE caller_id = %(caller_id)s::uuid) AS claimed_for
FROM ledger_operation
WHERE operation_type_id = %(type_id)s AND key = %(key)s::text
