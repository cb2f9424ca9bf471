-- Purpose: removes a queue.
-- Parameters: 1 id.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_queues WHERE id = ?1;
