-- Purpose: takes the head of a key out of those that are ready.
-- Parameters: 1 queue, 2 lane, 3 seq.
-- Index: queuekit_ready_lane.
-- Locks: runs inside a step.
DELETE FROM queuekit_ready INDEXED BY queuekit_ready_lane
WHERE queue = ?1 AND lane = ?2 AND seq = ?3;
