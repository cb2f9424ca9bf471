-- Purpose: lists recorded totals of one queue.
-- Parameters: 1 the queue, 2 resolution, 3 and 4 the rows begin from and before, 5 how many at most.
-- Result: rows by time.
-- Index: queuekit_history_totals_queue.
-- Locks: none.
SELECT at, queue, read_at, enqueued, completed, failed, dead, cancelled
FROM queuekit_history_totals INDEXED BY queuekit_history_totals_queue
WHERE queue = ?1 AND resolution = ?2 AND at >= ?3 AND at < ?4
ORDER BY at
LIMIT ?5;
