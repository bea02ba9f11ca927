-- What decisions know of one operation beside its own row: a row for each of its tries in their order, at
-- least one; the last tells of everything else, too. %(operation)s and %(type)s are numbers of rows; without %(each)s it
-- is the last try's row alone.
WITH last AS (
    SELECT number, CASE WHEN started_at IS NULL THEN claimed_at ELSE closed_at END AS since
    FROM ledger_attempt WHERE operation_id = %(operation)s ORDER BY number DESC LIMIT 1
)
SELECT
    attempt.number, attempt.idempotency_key, attempt.key_apart, attempt.claimed_at, attempt.started_at,
    attempt.sender_ended_at, attempt.closed_at, attempt.outcome, attempt.http_status, attempt.error_code,
    attempt.retry_after_s, attempt.replayed, attempt.cleared_at, attempt.worded_at,
    lookup.verdict AS lookup_verdict, lookup.asked_at AS lookup_asked_at, lookup.actor AS lookup_actor,
    lookup.complete AS lookup_complete, lookup.proof AS lookup_proof,
    CASE WHEN lookup.verdict = 'one_match' AND attempt.number IS NOT DISTINCT FROM last.number
        THEN lookup.records END AS lookup_records,
    permit.source AS permit_source, permit.actor AS permit_actor,
    permit.effective_at AS permit_effective_at, permit.lapses_at AS permit_lapses_at,
    pause.paused_at, pause.resumed_at,
    EXISTS (SELECT FROM ledger_approval WHERE operation_id = %(operation)s) AS is_asked,
    EXISTS (SELECT FROM ledger_drill WHERE operation_type_id = %(type)s) AS is_drilled
FROM ledger_operation operation
JOIN ledger_operationtype kind ON kind.id = operation.operation_type_id
LEFT JOIN last ON true
LEFT JOIN ledger_attempt attempt
    ON attempt.operation_id = operation.id AND (%(each)s OR attempt.number = last.number)
LEFT JOIN ledger_permit permit
    ON permit.operation_id = operation.id AND permit.spent_at IS NULL AND permit.withdrawn_at IS NULL
-- The latest look-up since the last attempt's end, or under its claim where it never sent.
LEFT JOIN LATERAL (
    SELECT * FROM ledger_lookup
    WHERE operation_id = operation.id AND (last.number IS NULL OR asked_at >= last.since)
    ORDER BY asked_at DESC, id DESC LIMIT 1
) lookup ON true
LEFT JOIN LATERAL (
    SELECT array_agg(paused_at ORDER BY paused_at) AS paused_at,
        array_agg(resumed_at ORDER BY paused_at) AS resumed_at
    FROM ledger_pause
    WHERE destination_id = kind.destination_id AND (NOT callers_only OR kind.performed_by = 'caller')
        AND (resumed_at IS NULL OR resumed_at > operation.accepted_at)
) pause ON true
WHERE operation.id = %(operation)s
ORDER BY attempt.number
