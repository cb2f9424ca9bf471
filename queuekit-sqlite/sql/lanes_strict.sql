-- Purpose: makes a queue strict again: its jobs without a key have no turn any more.
-- Parameters: 1 queue.
-- Index: queuekit_ready_lane.
-- Locks: runs inside a step.
UPDATE queuekit_ready INDEXED BY queuekit_ready_lane SET lane = NULL
WHERE queue = ?1 AND lane = '';
