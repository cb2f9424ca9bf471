-- Takes an advisory lock of the store until the transaction ends, if nobody holds it.
-- Parameters: $1 its number, below 0; $2 the schema's number.
-- Result: whether it was taken.
-- Index: none.
-- Locks: the advisory lock (schema, number).
SELECT pg_try_advisory_xact_lock($2::int, $1::int) AS taken
