-- Purpose: marks or unmarks the waiting jobs with a key, when a queue begins or ceases to pass
-- waiting jobs.
-- Parameters: 1 queue, 2 now, or NULL to unmark.
-- Index: queuekit_jobs_pending.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET due = scheduled_at <= ?2
WHERE queue = ?1 AND state = 0 AND lane <> '';
