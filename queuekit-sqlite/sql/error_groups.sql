-- Purpose: reads the error groups of a queue.
-- Parameters: 1 queue.
-- Result: a row per group, at most as many as are kept.
-- Index: the primary key.
-- Locks: none.
SELECT kind, signature, failures, deaths, first, last, sample, recent
FROM queuekit_error_groups WHERE queue = ?1;
