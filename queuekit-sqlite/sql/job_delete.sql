-- Purpose: removes a job.
-- Parameters: 1 key.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_jobs WHERE key = ?1;
