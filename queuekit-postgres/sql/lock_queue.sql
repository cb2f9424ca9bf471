-- Takes the lock of a queue with partition keys, until the transaction ends.
-- Parameters: $1 queue; $2 the schema's number.
-- Result: none.
-- Index: none.
-- Locks: the advisory lock (schema, queue). It is taken before any row.
SELECT pg_advisory_xact_lock($2::int, $1::int)
