-- Purpose: sets when the idempotency key of an ended job becomes free.
-- Parameters: 1 the queue's name, 2 key, 3 the job's id, 4 when.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_idempotency SET free_at = ?4
WHERE queue = ?1 AND key = ?2 AND job = ?3;
