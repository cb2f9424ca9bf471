-- Purpose: finds the time of the next key.
-- Parameters: 1 queue.
-- Result: next_at, or none.
-- Index: queuekit_lanes_later, covering.
SELECT next_at FROM queuekit_lanes
WHERE queue = ?1 AND ready = 0
ORDER BY next_at LIMIT 1;
