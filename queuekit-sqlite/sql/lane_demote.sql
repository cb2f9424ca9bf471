-- Purpose: takes a mark back: the clock stepped back.
-- Parameters: 1 key.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET due = 0 WHERE key = ?1;
