-- Purpose: finds the first due open jobs of one priority.
-- Parameters: 1 queue, 2 rank, 3 now, 4 how many.
-- Result: keys, in serving order.
-- Index: queuekit_jobs_pending, covering.
SELECT key FROM queuekit_jobs
WHERE queue = ?1 AND state = 0 AND open = 1 AND rank = ?2 AND scheduled_at <= ?3
ORDER BY scheduled_at, seq LIMIT ?4;
