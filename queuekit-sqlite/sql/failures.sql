-- failures
-- Purpose: reads a job's failures and releases, oldest first.
-- Parameters: 1 the job's key.
-- Result: lease_seq, attempt, at, worker, error, started_at, cause.
-- Index: the primary key.
SELECT lease_seq, attempt, at, worker, error, started_at, cause FROM queuekit_failures
WHERE job = ?1 ORDER BY lease_seq;
