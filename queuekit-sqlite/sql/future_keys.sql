-- Purpose: reads the open jobs of one priority whose time has not come.
-- Parameters: 1 queue, 2 rank, 3 now, 4 how many at most.
-- Result: keys.
-- Index: queuekit_jobs_pending, covering.
SELECT key FROM queuekit_jobs
WHERE queue = ?1 AND state = 0 AND open = 1 AND rank = ?2 AND scheduled_at > ?3
LIMIT ?4;
