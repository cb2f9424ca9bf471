-- Purpose: removes the mark of a job whose time has not come after all, because the clock went
-- back.
-- Parameters: 1 key.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET due = 0 WHERE key = ?1;
