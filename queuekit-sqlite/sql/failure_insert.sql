-- failure_insert
-- Purpose: appends a failure or a release to a job's history.
-- Parameters: 1 the job's key, 2 lease_seq, 3 attempt, 4 at, 5 worker, 6 error, 7 started_at,
-- 8 cause: NULL for a failure.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT OR REPLACE INTO queuekit_failures
    (job, lease_seq, attempt, at, worker, error, started_at, cause)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);
