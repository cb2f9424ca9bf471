-- Purpose: lets the head of a key wait again.
-- Parameters: 1 queue, 2 lane, 3 seq, 4 now if waiting jobs are passed in the queue, or NULL.
-- Index: queuekit_ready_lane.
-- Locks: runs inside a step, before head_delete.
INSERT INTO queuekit_waiting (queue, lane, seq, at, rank, due, job)
SELECT queue, lane, seq, at, rank, at <= ?4, job
FROM queuekit_ready INDEXED BY queuekit_ready_lane
WHERE queue = ?1 AND lane = ?2 AND seq = ?3;
