-- The first event that is as late as an instant, found by halving: events are numbered as they come, so that their
-- times need no index of their own. Where a clock was set back, it is the first one near there.
WITH RECURSIVE half(low, high) AS (
    SELECT min(id), max(id) + 1 FROM ledger_event
    UNION ALL
    SELECT CASE WHEN e.at < %(at)s THEN e.id + 1 ELSE h.low END,
        CASE WHEN e.at < %(at)s THEN h.high ELSE (h.low + h.high) / 2 END
    FROM half AS h CROSS JOIN LATERAL (
        SELECT id, at FROM ledger_event WHERE id >= (h.low + h.high) / 2 ORDER BY id LIMIT 1
    ) AS e
    WHERE h.low < h.high
)
SELECT low FROM half WHERE low >= high LIMIT 1
