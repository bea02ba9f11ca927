-- The one clock of every stored instant. Tests replace it in their own database.
-- clock_timestamp(), not now(): a lease taken after a long lock wait must not be born expired.
CREATE FUNCTION tieout_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';
