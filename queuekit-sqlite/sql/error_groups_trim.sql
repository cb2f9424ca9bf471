-- Purpose: removes the least recent error groups of a queue, after one was added.
-- Parameters: 1 queue; 2 how many are kept.
-- Result: none.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_error_groups
WHERE queue = ?1 AND (kind, signature) IN (
    SELECT kind, signature FROM queuekit_error_groups WHERE queue = ?1
    ORDER BY last DESC, kind DESC, signature DESC LIMIT -1 OFFSET ?2
);
