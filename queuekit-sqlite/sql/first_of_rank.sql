-- Purpose: finds when the first open job of one priority is due.
-- Parameters: 1 queue, 2 rank.
-- Result: scheduled_at, or none.
-- Index: queuekit_jobs_pending, covering.
SELECT scheduled_at FROM queuekit_jobs
WHERE queue = ?1 AND state = 0 AND open = 1 AND rank = ?2
ORDER BY scheduled_at LIMIT 1;
