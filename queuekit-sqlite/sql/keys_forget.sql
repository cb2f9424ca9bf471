-- Purpose: forgets idempotency keys that are free.
-- Parameters: 1 now, 2 how many at most.
-- Index: queuekit_idempotency_freeing, covering; the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_idempotency
WHERE (queue, key) IN (
    SELECT queue, key FROM queuekit_idempotency
    WHERE free_at <= ?1 ORDER BY free_at LIMIT ?2
);
