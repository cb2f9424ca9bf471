-- Purpose: counts the waiting jobs without a key of a fair queue.
-- Parameters: 1 queue.
-- Index: queuekit_jobs_lane, covering.
SELECT count(*) FROM queuekit_jobs
WHERE queue = ?1 AND lane = '' AND state = 0 AND state < 2;
