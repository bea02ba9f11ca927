-- The living API token with this hash: read for each request, so that a revoked one is void at once.
SELECT id, name, types FROM ledger_apitoken WHERE token_hash = %(token_hash)s::text AND revoked_at IS NULL
