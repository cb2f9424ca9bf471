-- Purpose: finds the first job that waits behind the head of a key.
-- Parameters: 1 queue, 2 lane.
-- Result: key, seq, scheduled_at, or none.
-- Index: the primary key.
SELECT job AS key, seq, at AS scheduled_at FROM queuekit_waiting
WHERE queue = ?1 AND lane = ?2
ORDER BY seq LIMIT 1;
