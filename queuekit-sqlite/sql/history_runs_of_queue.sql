-- Purpose: lists the runs of one queue.
-- Parameters: 1 the queue, 2 resolution, 3 and 4 the rows begin from and before, 5 and 6 time and
-- kind of the row they come after, 7 how many at most.
-- Result: rows by time and kind.
-- Index: queuekit_history_runs_queue.
-- Locks: none.
SELECT at, queue, kind, numbers
FROM queuekit_history_runs INDEXED BY queuekit_history_runs_queue
WHERE queue = ?1 AND resolution = ?2 AND at >= ?3 AND at < ?4 AND (at, kind) > (?5, ?6)
ORDER BY at, kind
LIMIT ?7;
