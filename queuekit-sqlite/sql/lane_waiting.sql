-- Purpose: reads the first waiting jobs of a key.
-- Parameters: 1 queue, 2 lane, 3 how many.
-- Result: seq, scheduled_at, in order.
-- Index: queuekit_jobs_lane.
SELECT seq, scheduled_at FROM queuekit_jobs
WHERE queue = ?1 AND lane = ?2 AND state = 0 AND state < 2
ORDER BY seq LIMIT ?3;
