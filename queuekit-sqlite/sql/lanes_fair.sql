-- Purpose: makes a queue fair: its waiting jobs without a key get a turn of their own.
-- Parameters: 1 queue.
-- Index: queuekit_jobs_pending.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET lane = ''
WHERE queue = ?1 AND state = 0 AND lane IS NULL;
