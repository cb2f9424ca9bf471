-- Purpose: a job has ended: its idempotency key becomes free at a time.
-- Parameters: 1 the queue's name, 2 key, 3 the job's id, 4 when.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_idempotency SET free_at = ?4
WHERE queue = ?1 AND key = ?2 AND job = ?3;
