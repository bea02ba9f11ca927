-- The API token with this hash: read for each request, so that one that has ended is void at once. What ended it, and
-- the clock by which its requests are counted, come with it.
SELECT id, name, types, per_minute, extract(epoch FROM tieout_now())::float8 AS at_s,
    CASE
        WHEN revoked_at <= tieout_now() AND revoked_at < coalesce(expires_at, 'infinity') THEN 'revoked'
        WHEN expires_at <= tieout_now() THEN 'expired'
    END AS ended
FROM ledger_apitoken WHERE token_hash = %(token_hash)s::text
