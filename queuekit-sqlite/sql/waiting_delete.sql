-- Purpose: takes a job out of those that wait behind the head of their key.
-- Parameters: 1 queue, 2 lane, 3 seq.
-- Result: one changed row, or none if it does not stand there.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_waiting WHERE queue = ?1 AND lane = ?2 AND seq = ?3;
