-- Purpose: reads a job's failures, oldest first.
-- Parameters: 1 the job's key.
-- Result: lease_seq, attempt, at, worker, error.
-- Index: the primary key.
SELECT lease_seq, attempt, at, worker, error FROM queuekit_failures
WHERE job = ?1 ORDER BY lease_seq;
