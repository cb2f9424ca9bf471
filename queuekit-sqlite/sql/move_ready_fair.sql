-- Purpose: where a queue becomes fair, gives those of a slice of its ready jobs that have no key the
-- turn that they share.
-- Parameters: 1 queue, 2 rank, 3 at and 4 seq of the end of the slice before, 5 how many.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_ready SET lane = ''
WHERE queue = ?1 AND lane IS NULL AND (rank, at, seq) IN (
    SELECT rank, at, seq FROM queuekit_ready
    WHERE queue = ?1 AND (rank, at, seq) > (?2, ?3, ?4)
    ORDER BY rank, at, seq LIMIT ?5
);
