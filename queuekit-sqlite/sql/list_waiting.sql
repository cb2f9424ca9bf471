-- Purpose: lists pending jobs in serving order, after a place: merges those that are ready and
-- those behind the head of their key.
-- Parameters: 1 queue, 2 rank, 3 scheduled_at and 4 seq of the place, 5 how many.
-- Result: key, rank, scheduled_at, seq.
-- Index: the primary key; queuekit_waiting_order.
SELECT job AS key, rank, at AS scheduled_at, seq FROM queuekit_ready
WHERE queue = ?1 AND (rank, at, seq) > (?2, ?3, ?4)
UNION ALL
SELECT job, rank, at, seq FROM queuekit_waiting
WHERE queue = ?1 AND (rank, at, seq) > (?2, ?3, ?4)
ORDER BY rank, scheduled_at, seq LIMIT ?5;
