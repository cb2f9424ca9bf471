-- Purpose: stores the result of a job.
-- Parameters: 1 key, 2 result, 3 bytes of payload and result.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET result = ?2, size = ?3 WHERE key = ?1;
