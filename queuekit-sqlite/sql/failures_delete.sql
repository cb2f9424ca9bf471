-- Purpose: removes a job's failures.
-- Parameters: 1 the job's key.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_failures WHERE job = ?1;
