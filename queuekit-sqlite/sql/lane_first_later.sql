-- Purpose: where waiting jobs are passed, finds the one of a key whose time comes next.
-- Parameters: 1 queue, 2 lane.
-- Result: key, scheduled_at, or none.
-- Index: queuekit_jobs_later, covering.
SELECT key, scheduled_at FROM queuekit_jobs
WHERE queue = ?1 AND lane = ?2 AND due = 0
ORDER BY scheduled_at, seq LIMIT 1;
