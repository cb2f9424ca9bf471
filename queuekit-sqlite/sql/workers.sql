-- Purpose: reads the workers that are there, by id.
-- Parameters: 1 now.
-- Result: a row per worker.
-- Locks: none. There are few workers: it looks at all of them, by the primary key.
SELECT id, name, queues, kinds, slots, running, ttl_ms, at FROM queuekit_workers
WHERE at + 3 * ttl_ms > ?1
ORDER BY id;
