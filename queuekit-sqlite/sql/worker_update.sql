-- Purpose: records a beat of a worker that is listed.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_workers
SET
    name = ?2, queues = ?3, kinds = ?4, slots = ?5, running = ?6, ttl_ms = ?7, at = ?8,
    quiet_ms = ?9, about = ?10, order_seq = ?11, order_mode = ?12, order_slots = ?13
WHERE id = ?1;
