-- last_failure
-- Purpose: reads the last failure of a job.
-- Parameters: 1 the job's key.
-- Result: error, or none.
-- Index: the primary key. It passes over the job's releases, of which few are kept.
SELECT error FROM queuekit_failures
WHERE job = ?1 AND cause IS NULL ORDER BY lease_seq DESC LIMIT 1;
