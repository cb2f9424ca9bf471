-- Purpose: reads the last failure of a job.
-- Parameters: 1 the job's key.
-- Result: error, or none.
-- Index: the primary key.
SELECT error FROM queuekit_failures WHERE job = ?1 ORDER BY lease_seq DESC LIMIT 1;
