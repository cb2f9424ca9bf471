-- Purpose: keeps the last log lines of a job.
-- Parameters: 1 the job's key, 2 how many are kept.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_logs
WHERE job = ?1 AND n <= (SELECT max(n) FROM queuekit_logs WHERE job = ?1) - ?2;
