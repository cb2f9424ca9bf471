-- Purpose: reads the orders of a worker that is listed.
-- Parameters: 1 now; 2 id.
-- Result: a row if it is listed.
-- Index: the primary key.
-- Locks: runs inside a step.
SELECT order_seq, order_mode, order_slots FROM queuekit_workers
WHERE id = ?2 AND at + 3 * ttl_ms + quiet_ms > ?1;
