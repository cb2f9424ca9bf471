-- Purpose: reads a job's checkpoints, in the order in which they were stored.
-- Parameters: 1 the job's key.
-- Result: name, at, result.
-- Index: queuekit_checkpoints_job.
SELECT name, at, result FROM queuekit_checkpoints WHERE job = ?1 ORDER BY key;
