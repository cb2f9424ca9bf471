-- Purpose: finds the first waiting job of a key.
-- Parameters: 1 queue, 2 lane.
-- Result: key, scheduled_at, or none.
-- Index: queuekit_jobs_lane.
SELECT key, scheduled_at FROM queuekit_jobs
WHERE queue = ?1 AND lane = ?2 AND state = 0 AND state < 2
ORDER BY seq LIMIT 1;
