-- Waits, no longer than lock_timeout, until no open transaction has emitted by the present
-- settings.
-- Parameters: $1 the schema's number.
-- Result: none that matters.
-- Index: none.
-- Locks: the settings: those who emit wait until the transaction ends.
SELECT pg_advisory_xact_lock($1::int, -2)
