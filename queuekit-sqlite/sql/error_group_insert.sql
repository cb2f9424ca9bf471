-- Purpose: begins an error group of a queue.
-- Parameters: 1 queue, 2 kind, 3 signature, 4 failures, 5 deaths, 6 first time, 7 last time,
-- 8 sample, 9 what is recent.
-- Result: none.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_error_groups (
    queue, kind, signature, failures, deaths, first, last, sample, recent
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
