-- Purpose: in a fair queue, finds the key whose time comes next.
-- Parameters: 1 queue.
-- Result: lane, next_at, or none.
-- Index: queuekit_lanes_later, covering.
SELECT lane, next_at FROM queuekit_lanes
WHERE queue = ?1 AND ready = 0
ORDER BY next_at, lane LIMIT 1;
