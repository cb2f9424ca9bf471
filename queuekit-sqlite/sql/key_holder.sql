-- Purpose: finds the job that holds an idempotency key.
-- Parameters: 1 the queue's name, 2 key, 3 now.
-- Result: the job's id, or none.
-- Index: the primary key.
SELECT job FROM queuekit_idempotency
WHERE queue = ?1 AND key = ?2 AND (free_at IS NULL OR free_at > ?3);
