-- Purpose: makes a queue strict again: its jobs without a key have no turn any more.
-- Parameters: 1 queue.
-- Index: queuekit_jobs_lane.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET lane = NULL
WHERE queue = ?1 AND lane = '' AND state = 0 AND state < 2;
