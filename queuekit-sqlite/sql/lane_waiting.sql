-- Purpose: reads the first pending jobs of a key.
-- Parameters: 1 queue, 2 lane, 3 how many.
-- Result: seq, scheduled_at, in order.
-- Index: queuekit_ready_lane; the primary key.
SELECT seq, at AS scheduled_at FROM queuekit_ready WHERE queue = ?1 AND lane = ?2
UNION ALL
SELECT seq, at FROM queuekit_waiting WHERE queue = ?1 AND lane = ?2
ORDER BY seq LIMIT ?3;
