-- Purpose: forgets a worker that is listed.
-- Parameters: 1 id; 2 now.
-- Result: none; it changes a row if the worker was listed.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_workers WHERE id = ?1 AND at + 3 * ttl_ms + quiet_ms > ?2;
