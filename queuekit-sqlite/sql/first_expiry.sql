-- Purpose: finds when the next lease of a queue runs out.
-- Parameters: 1 queue.
-- Result: lease_expires_at, or none.
-- Index: queuekit_jobs_leased, covering.
SELECT lease_expires_at FROM queuekit_jobs
WHERE queue = ?1 AND state = 1
ORDER BY lease_expires_at LIMIT 1;
