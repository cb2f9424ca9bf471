-- Purpose: makes a job that waits the head of its key.
-- Parameters: 1 queue, 2 lane, 3 seq.
-- Index: the primary key.
-- Locks: runs inside a step, before waiting_delete.
INSERT INTO queuekit_ready (queue, rank, at, seq, job, lane)
SELECT queue, rank, at, seq, job, lane FROM queuekit_waiting
WHERE queue = ?1 AND lane = ?2 AND seq = ?3;
