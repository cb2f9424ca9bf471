-- Purpose: removes the error groups of a queue that is removed.
-- Parameters: 1 queue.
-- Result: none.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_error_groups WHERE queue = ?1;
