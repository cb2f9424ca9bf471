-- Purpose: records a beat of a worker that is stored.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_workers
SET name = ?2, queues = ?3, kinds = ?4, slots = ?5, running = ?6, ttl_ms = ?7, at = ?8
WHERE id = ?1;
