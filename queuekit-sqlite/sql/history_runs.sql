-- Purpose: lists the runs of all queues.
-- Parameters: 1 resolution, 2 and 3 the rows begin from and before, 4 to 6 time, queue and kind of
-- the row they come after, 7 how many at most.
-- Result: rows by time, queue and kind.
-- Index: the primary key.
-- Locks: none.
SELECT at, queue, kind, numbers
FROM queuekit_history_runs
WHERE resolution = ?1 AND at >= ?2 AND at < ?3 AND (at, queue, kind) > (?4, ?5, ?6)
ORDER BY at, queue, kind
LIMIT ?7;
