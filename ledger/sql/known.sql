-- What is known of an operation by its key, for a claim that met another one's insert.
SELECT id, uid, operation_type_id, key, state, description, subject, amount, currency, source_system,
    source_reference, source_version, payload_digest, accepted_at, changed_at, held_at,
    corrects_id, corrected_at, destination_reference, evidence, first_cause
FROM ledger_operation
WHERE operation_type_id = %(type_id)s AND key = %(key)s::text
