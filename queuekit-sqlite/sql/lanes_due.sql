-- Purpose: finds the keys whose time has come, the earliest first.
-- Parameters: 1 queue, 2 now, 3 how many.
-- Result: lanes.
-- Index: queuekit_lanes_later, covering.
SELECT lane FROM queuekit_lanes
WHERE queue = ?1 AND ready = 0 AND next_at <= ?2
ORDER BY next_at, lane LIMIT ?3;
