-- Purpose: removes a job's checkpoints.
-- Parameters: 1 the job's key.
-- Index: queuekit_checkpoints_job.
-- Locks: runs inside a step.
DELETE FROM queuekit_checkpoints WHERE job = ?1;
