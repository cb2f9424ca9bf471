-- Purpose: reads what is recent in an error group of a queue.
-- Parameters: 1 queue, 2 kind, 3 signature.
-- Result: a row, or none if there is no such group.
-- Index: the primary key.
-- Locks: runs inside a step.
SELECT recent, last FROM queuekit_error_groups
WHERE queue = ?1 AND kind = ?2 AND signature = ?3;
