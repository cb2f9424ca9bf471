-- Purpose: writes the runs of a queue and kind in a time.
-- Parameters: 1 resolution, 2 the beginning of the time, 3 queue, 4 kind, 5 numbers.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_history_runs (resolution, at, queue, kind, numbers)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (resolution, at, queue, kind) DO UPDATE SET numbers = excluded.numbers;
