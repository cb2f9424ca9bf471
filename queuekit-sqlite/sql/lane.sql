-- Purpose: reads one partition key of a queue.
-- Parameters: 1 queue, 2 lane.
-- Result: its row, or none.
-- Index: the primary key.
SELECT waiting, running, held, head, turn, ready, next_at FROM queuekit_lanes
WHERE queue = ?1 AND lane = ?2;
