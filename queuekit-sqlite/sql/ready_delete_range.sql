-- Purpose: takes jobs out of those that are ready, from a place in serving order to another one.
-- Parameters: 1 queue, 2 rank, 3 at and 4 seq of the first, 5 at and 6 seq of the last.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_ready
WHERE queue = ?1 AND rank = ?2 AND (at, seq) >= (?3, ?4) AND (at, seq) <= (?5, ?6);
