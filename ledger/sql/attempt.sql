-- Whose attempt this is: who claimed it, its operation, and the type that a token must cover.
SELECT a.actor, o.id AS operation_id, t.name AS type_name
FROM ledger_attempt AS a
    JOIN ledger_operation AS o ON o.id = a.operation_id
    JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
WHERE a.uid = %(uid)s::uuid
