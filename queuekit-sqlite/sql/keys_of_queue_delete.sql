-- Purpose: forgets the idempotency keys and turns of a queue that ceases to exist.
-- Parameters: 1 queue.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_idempotency WHERE queue = ?1;
