-- Purpose: forgets the partition keys of a queue that is being removed.
-- Parameters: 1 queue.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_lanes WHERE queue = ?1;
