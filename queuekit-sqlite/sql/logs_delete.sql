-- Purpose: removes a job's log lines.
-- Parameters: 1 the job's key.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_logs WHERE job = ?1;
