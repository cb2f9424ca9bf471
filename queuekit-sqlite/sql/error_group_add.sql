-- Purpose: adds to an error group of a queue.
-- Parameters: 1 queue, 2 kind, 3 signature, 4 failures, 5 deaths, 6 time, 7 sample, 8 what is
-- recent.
-- Result: none; changes no row if there is no such group.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_error_groups
SET failures = failures + ?4, deaths = deaths + ?5, last = max(last, ?6), sample = ?7, recent = ?8
WHERE queue = ?1 AND kind = ?2 AND signature = ?3;
