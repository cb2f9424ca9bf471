-- Purpose: finds the job that stands ready for a key.
-- Parameters: 1 queue, 2 lane.
-- Result: key, seq, scheduled_at, or none.
-- Index: queuekit_ready_lane.
SELECT job AS key, seq, at AS scheduled_at FROM queuekit_ready
WHERE queue = ?1 AND lane = ?2
ORDER BY seq LIMIT 1;
