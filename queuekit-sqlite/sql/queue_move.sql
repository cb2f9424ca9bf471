-- Purpose: notes how far the jobs and keys of a queue are placed anew.
-- Parameters: 1 id, 2 how far, or NULL at the end.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_queues SET moving = ?2 WHERE id = ?1;
