-- Purpose: reads the live workers, by id.
-- Parameters: 1 now.
-- Result: a row per worker.
-- Locks: none. It looks at all workers, of which there are at most 10,000, by the primary key.
SELECT id, name, queues, kinds, slots, running, ttl_ms, at FROM queuekit_workers
WHERE at + 3 * ttl_ms > ?1
ORDER BY id;
