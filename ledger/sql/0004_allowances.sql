-- What each automation has asked for in the present minute. Nothing durable: after a crash of the database it is empty,
-- and the minute begins anew. A counter that is not logged makes no commit wait for the disk.
CREATE UNLOGGED TABLE ledger_allowance (
    name text NOT NULL,
    lane text NOT NULL,
    minute bigint NOT NULL,
    drawn bigint NOT NULL,
    PRIMARY KEY (name, lane)
) WITH (fillfactor = 50);
