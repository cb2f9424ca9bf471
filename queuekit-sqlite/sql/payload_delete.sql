-- Purpose: removes a job's large payload, if it has one.
-- Parameters: 1 the job's key.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_payloads WHERE job = ?1;
