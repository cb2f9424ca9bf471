-- Purpose: ends the lease of a job.
-- Parameters: 1 the job's key.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_runs WHERE job = ?1;
