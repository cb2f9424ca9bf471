-- Purpose: counts the waiting jobs of a fair queue that have no key.
-- Parameters: 1 queue.
-- Index: queuekit_jobs_lane, covering.
SELECT count(*) FROM queuekit_jobs
WHERE queue = ?1 AND lane = '' AND state = 0 AND state < 2;
