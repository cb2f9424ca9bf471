-- Purpose: reads the live workers, by id.
-- Parameters: 1 now; 2 the id they come after, empty for all.
-- Result: a row per worker.
-- Index: the primary key.
-- Locks: none.
SELECT
    id, name, queues, kinds, slots, running, ttl_ms, at, quiet_ms, about, order_seq, order_mode,
    order_slots
FROM queuekit_workers
WHERE id > ?2 AND at + 3 * ttl_ms + quiet_ms > ?1
ORDER BY id;
