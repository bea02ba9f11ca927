-- A million operations, a hundred thousand of them open, as a year of work would have left them; put there without triggers.
SET session_replication_role = replica;
SET synchronous_commit = off;

INSERT INTO ledger_operation (
    uid, operation_type_id, key, state, description, subject, amount, currency, source_system, source_reference,
    source_version, payload_digest, leaf_digests, idempotency_key, generation, account_first, accepted_at, changed_at,
    revision, attempt_count, look_count, settles_at, look_at, next_try_at, held_at, destination_reference, evidence,
    evidence_by, finished_at, after_reference, first_cause
)
SELECT gen_random_uuid(), kinds.ids[1 + n % array_length(kinds.ids, 1)], 'order/shop/' || n || '/v1',
    CASE WHEN open >= 100000 THEN 'completed' WHEN open < 25000 THEN 'failed' WHEN open < 30000 THEN 'completed'
        WHEN open < 70000 THEN 'uncertain' ELSE 'pending' END,
    'Order ' || n, 'Customer ' || n % 5000, CASE WHEN n % 4 < 3 THEN round(exp(random() * 10)::numeric, 2) END,
    CASE n % 4 WHEN 0 THEN 'ZAR' WHEN 1 THEN CASE WHEN n % 8 = 1 THEN 'EUR' ELSE 'ZAR' END WHEN 2 THEN 'USD' ELSE '' END,
    'shop', n::text, '1', 'k1:' || md5(n::text), '{"order": "aaaa", "total": "bbbb"}', md5('key' || n), 1, 'main',
    at, at, 4, 1, 0, at + interval '1 minute',
    CASE WHEN open BETWEEN 55000 AND 69999 THEN now() + interval '1 hour' END,
    CASE WHEN open BETWEEN 70000 AND 99999 THEN now() + interval '1 hour' END,
    CASE WHEN open < 55000 THEN at + interval '2 minutes' END,
    CASE WHEN open >= 100000 THEN 'INV-' || n ELSE '' END,
    CASE WHEN open >= 100000 OR open BETWEEN 25000 AND 29999 THEN 'answer' ELSE '' END, '',
    CASE WHEN open >= 100000 THEN at + interval '1 minute' END, '', ''
FROM (SELECT array_agg(id ORDER BY id) AS ids FROM ledger_operationtype) AS kinds,
    generate_series(1, 1000000) AS n
    -- Each tenth one is open, whatever else of it goes by its number.
    CROSS JOIN LATERAL (SELECT CASE WHEN (n / 7) % 10 = 0 THEN (n::bigint * 7919) % 100000 ELSE 100000 END AS open) AS share
    CROSS JOIN LATERAL (SELECT now() - (1000000 - n) * interval '8 seconds' AS at) AS moment;

-- Of a hundred cases five are ann's and five bob's, three are snoozed, and four went to the next level.
INSERT INTO ledger_case (
    uid, operation_id, kind, owner, opened_at, due_at, closed_by, assignee, snoozed_until, snoozed_revision, level, escalated_at,
    escalated_to
)
SELECT gen_random_uuid(), id,
    CASE state WHEN 'completed' THEN (ARRAY['several', 'differs'])[1 + id % 2]
        WHEN 'failed' THEN (ARRAY['refused', 'absent', 'limit', 'lapsed'])[1 + id % 4]
        ELSE (ARRAY['could_not_look', 'unproved', 'expired', 'accepted'])[1 + id % 4] END,
    CASE WHEN id % 50 = 0 THEN 'treasury' WHEN id % 3 = 0 THEN 'operations' ELSE 'finance' END,
    held_at, held_at + interval '4 hours', '', CASE id % 20 WHEN 3 THEN 'ann' WHEN 4 THEN 'bob' ELSE '' END,
    CASE WHEN id % 33 = 5 THEN now() + interval '10 years' END, CASE WHEN id % 33 = 5 THEN revision END,
    CASE WHEN id % 25 = 6 THEN 1 ELSE 0 END, CASE WHEN id % 25 = 6 THEN held_at + interval '4 hours' END,
    CASE WHEN id % 25 = 6 THEN 'treasury' ELSE '' END
FROM ledger_operation WHERE held_at IS NOT NULL;

INSERT INTO ledger_attempt (
    uid, operation_id, number, start_id, actor, token_hash, run, idempotency_key, payload_digest, claimed_at, lease_until,
    started_at, sender_ended_at, closed_at, outcome, error_code, message, destination_reference, outcome_digest
)
SELECT gen_random_uuid(), o.id, number, gen_random_uuid(), 'worker', '', '', o.idempotency_key, o.payload_digest, at,
    at + interval '1 minute', at, at + interval '3 seconds', at + interval '3 seconds',
    CASE state WHEN 'failed' THEN 'rejected' ELSE 'uncertain' END, 'silent', 'No answer within 3 s.', '', ''
FROM ledger_operation AS o
    -- One of them was tried fifty times.
    CROSS JOIN LATERAL generate_series(1, CASE WHEN o.id = %(often)s THEN 50 ELSE 1 END) AS number
    CROSS JOIN LATERAL (SELECT accepted_at + (number - 1) * interval '10 seconds' AS at) AS moment
WHERE held_at IS NOT NULL OR state = 'uncertain';

INSERT INTO ledger_lookup (
    uid, operation_id, actor, asked_at, answered_at, verdict, complete, proof, records, content_digest, why, control_reference
)
SELECT gen_random_uuid(), id, 'worker', accepted_at + interval '40 seconds', accepted_at + interval '41 seconds',
    CASE state WHEN 'completed' THEN (ARRAY['several', 'differs'])[1 + id % 2] WHEN 'failed' THEN 'absent'
        ELSE 'could_not_look' END, state <> 'uncertain', false,
    CASE state WHEN 'completed' THEN (
        SELECT jsonb_agg(jsonb_build_object('id', 'SEEN-' || id || '-' || which, 'reference', key,
            'amount', (amount + id % 2)::text, 'currency', currency, 'status', 'open', 'standing', 'done',
            'occurred_at', accepted_at, 'differs', CASE id % 2 WHEN 1 THEN '["amount"]' ELSE '[]' END::jsonb))
        FROM generate_series(1, 2 - id % 2) AS which
    ) ELSE '[]' END, md5(id::text), '', ''
FROM ledger_operation WHERE (held_at IS NOT NULL OR state = 'uncertain') AND id % 5 > 0;

INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, revision, data, at)
SELECT gen_random_uuid(), %(often)s, 'outcome', 'worker', 'No answer that proves anything.', '', '', number, '{}',
    now() - (200 - number) * interval '1 minute'
FROM generate_series(1, 150) AS number;

SELECT count(review_keep_operation(id)) FROM ledger_operation WHERE held_at IS NOT NULL OR state = 'uncertain';

-- Whose they are, until when they rest and how often they were escalated is written by a trigger elsewhere.
UPDATE review_item AS item
SET assignee = c.assignee, level = c.level, rests_s = coalesce(extract(epoch FROM c.snoozed_until), 0)
FROM ledger_case AS c
WHERE c.id = item.case_id AND (c.assignee <> '' OR c.level > 0 OR c.snoozed_until IS NOT NULL);
