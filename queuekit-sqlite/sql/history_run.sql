-- Purpose: reads the runs of a queue and kind in a time.
-- Parameters: 1 resolution, 2 the beginning of the time, 3 queue, 4 kind.
-- Result: their numbers, or no row.
-- Index: the primary key.
-- Locks: runs inside a step.
SELECT numbers FROM queuekit_history_runs
WHERE resolution = ?1 AND at = ?2 AND queue = ?3 AND kind = ?4;
