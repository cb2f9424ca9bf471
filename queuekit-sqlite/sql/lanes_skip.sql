-- Purpose: marks or unmarks the jobs that wait behind the heads of their keys, when a queue begins
-- or ceases to pass waiting jobs.
-- Parameters: 1 queue, 2 now, or NULL to unmark.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_waiting SET due = at <= ?2 WHERE queue = ?1;
