-- Waits until nobody emits by the settings as they are, no longer than lock_timeout.
-- Parameters: $1 the schema's number.
-- Result: none that matters.
-- Index: none.
-- Locks: the settings: until the transaction ends, who emits waits.
SELECT pg_advisory_xact_lock($1::int, -2)
