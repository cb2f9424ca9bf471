-- Purpose: lists recorded totals of all queues.
-- Parameters: 1 resolution, 2 and 3 the rows begin from and before, 4 and 5 time and queue of the
-- row they come after, 6 how many at most.
-- Result: rows by time and queue.
-- Index: the primary key.
-- Locks: none.
SELECT at, queue, read_at, enqueued, completed, failed, dead, cancelled
FROM queuekit_history_totals
WHERE resolution = ?1 AND at >= ?2 AND at < ?3 AND (at, queue) > (?4, ?5)
ORDER BY at, queue
LIMIT ?6;
