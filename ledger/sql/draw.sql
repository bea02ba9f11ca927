-- Draw from what an automation may still ask for in a minute; what comes back beyond its limit was not to be had.
-- A minute before the last one is one to which the clock was set back: it is counted anew.
INSERT INTO ledger_allowance AS shared (name, lane, minute, drawn)
VALUES (%(name)s::text, %(lane)s::text, %(minute)s::bigint, %(wanted)s::bigint)
ON CONFLICT (name, lane) DO UPDATE SET
    drawn = excluded.drawn
        + CASE WHEN shared.minute IN (excluded.minute, excluded.minute + 1) THEN shared.drawn ELSE 0 END,
    minute = CASE WHEN shared.minute = excluded.minute + 1 THEN shared.minute ELSE excluded.minute END
RETURNING minute, drawn
