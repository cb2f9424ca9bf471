-- Purpose: reads a job's checkpoints without their results, in the order in which they were stored.
-- Parameters: 1 the job's key.
-- Result: name, at, and the bytes of the result.
-- Index: queuekit_checkpoints_job.
SELECT name, at, length(result) AS bytes FROM queuekit_checkpoints WHERE job = ?1 ORDER BY key;
