-- Purpose: takes the lock of a queue, as a reserve of a queue with partition keys does, until the
-- connection ends.
-- Parameters: $1 the class of the schema's locks; $2 the queue's name.
SELECT pg_advisory_lock($1::int, id) FROM queuekit.queues
WHERE name = $2::text
