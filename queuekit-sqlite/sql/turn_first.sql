-- Purpose: in a fair queue, finds the key whose turn it is.
-- Parameters: 1 queue.
-- Result: lane, or none.
-- Index: queuekit_lanes_ready, covering.
SELECT lane FROM queuekit_lanes
WHERE queue = ?1 AND ready = 1
ORDER BY turn, lane LIMIT 1;
