-- Purpose: reads the partition keys of a queue, in slices.
-- Parameters: 1 queue, 2 the last one of the slice before, or an empty text, 3 how many.
-- Result: lanes, in order.
-- Index: the primary key, covering.
SELECT lane FROM queuekit_lanes
WHERE queue = ?1 AND lane > ?2
ORDER BY lane LIMIT ?3;
