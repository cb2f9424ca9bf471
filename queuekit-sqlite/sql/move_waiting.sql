-- Purpose: where waiting jobs begin to be passed, marks those of a slice whose time has come. Marks
-- from a time when they were passed before stay: what has changed since is found as in any queue.
-- Parameters: 1 queue, 2 lane and 3 seq of the end of the slice before, 4 how many, 5 now.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_waiting SET due = at <= ?5
WHERE queue = ?1 AND due IS NULL AND (lane, seq) IN (
    SELECT lane, seq FROM queuekit_waiting
    WHERE queue = ?1 AND (lane, seq) > (?2, ?3)
    ORDER BY lane, seq LIMIT ?4
);
