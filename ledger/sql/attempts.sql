-- Whose attempts these are: who claimed each, its operation, and the type that a token must cover.
SELECT a.uid, a.actor, o.id AS operation_id, t.name AS type_name
FROM ledger_attempt AS a
    JOIN ledger_operation AS o ON o.id = a.operation_id
    JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
WHERE a.uid = ANY(%(uids)s::uuid[])
