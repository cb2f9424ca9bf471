-- Purpose: forgets the partition keys of a queue that ceases to exist.
-- Parameters: 1 queue.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_lanes WHERE queue = ?1;
