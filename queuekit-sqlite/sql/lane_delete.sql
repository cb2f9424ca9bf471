-- Purpose: forgets a partition key that has no jobs any more.
-- Parameters: 1 queue, 2 lane.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_lanes WHERE queue = ?1 AND lane = ?2;
