-- Purpose: finds the last job of a slice of those that are ready.
-- Parameters: 1 queue, 2 rank, 3 at and 4 seq of the end of the slice before, 5 how many.
-- Result: rank, at, seq, or none if there are fewer.
-- Index: the primary key.
SELECT rank, at, seq FROM queuekit_ready
WHERE queue = ?1 AND (rank, at, seq) > (?2, ?3, ?4)
ORDER BY rank, at, seq LIMIT 1 OFFSET ?5 - 1;
