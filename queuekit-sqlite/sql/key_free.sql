-- Purpose: frees an idempotency key at once, if the job holds it.
-- Parameters: 1 the queue's name, 2 key, 3 the job's id.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_idempotency
WHERE queue = ?1 AND key = ?2 AND job = ?3;
