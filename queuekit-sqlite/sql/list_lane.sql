-- Purpose: lists the waiting jobs of one key, after a sequence.
-- Parameters: 1 queue, 2 lane, 3 seq, 4 how many.
-- Result: key, lane, seq.
-- Index: queuekit_jobs_lane.
SELECT key, lane, seq FROM queuekit_jobs
WHERE queue = ?1 AND lane = ?2 AND state = 0 AND state < 2 AND seq > ?3
ORDER BY seq LIMIT ?4;
