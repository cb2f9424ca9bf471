-- Purpose: removes the mark of a job whose time has not come after all, because the clock went
-- back.
-- Parameters: 1 queue, 2 lane, 3 seq.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_waiting SET due = 0 WHERE queue = ?1 AND lane = ?2 AND seq = ?3;
