-- Purpose: a queue's waiting jobs are passed from now on, or no longer: marks or unmarks those
-- that have a key.
-- Parameters: 1 queue, 2 now, or NULL to unmark.
-- Index: queuekit_jobs_pending.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET due = scheduled_at <= ?2
WHERE queue = ?1 AND state = 0 AND lane <> '';
