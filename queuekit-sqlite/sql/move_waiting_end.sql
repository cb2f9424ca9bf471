-- Purpose: finds the last job of a slice of those behind the heads of their keys.
-- Parameters: 1 queue, 2 lane and 3 seq of the end of the slice before, 4 how many.
-- Result: lane, seq, or none if there are fewer.
-- Index: the primary key, covering.
SELECT lane, seq FROM queuekit_waiting
WHERE queue = ?1 AND (lane, seq) > (?2, ?3)
ORDER BY lane, seq LIMIT 1 OFFSET ?4 - 1;
