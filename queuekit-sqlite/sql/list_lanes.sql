-- Purpose: lists the pending jobs that have a turn or a key, by key and sequence, after a place.
-- Parameters: 1 queue, 2 lane and 3 seq of the place, 4 how many.
-- Result: key, lane, seq.
-- Index: queuekit_ready_lane; the primary key.
SELECT job AS key, lane, seq FROM queuekit_ready
WHERE queue = ?1 AND lane IS NOT NULL AND (lane, seq) > (?2, ?3)
UNION ALL
SELECT job, lane, seq FROM queuekit_waiting
WHERE queue = ?1 AND (lane, seq) > (?2, ?3)
ORDER BY lane, seq LIMIT ?4;
