-- Purpose: where waiting jobs are passed, finds the first of a key whose time has come.
-- Parameters: 1 queue, 2 lane.
-- Result: key, scheduled_at, or none.
-- Index: queuekit_jobs_due.
SELECT key, scheduled_at FROM queuekit_jobs
WHERE queue = ?1 AND lane = ?2 AND due = 1
ORDER BY seq LIMIT 1;
