-- Purpose: takes a job out of those that are ready.
-- Parameters: 1 queue, 2 rank, 3 at and 4 seq of its place.
-- Result: one changed row, or none if it does not stand there.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_ready WHERE queue = ?1 AND rank = ?2 AND at = ?3 AND seq = ?4;
