-- Purpose: lets a job hold an idempotency key, without an end.
-- Parameters: 1 the queue's name, 2 key, 3 the job's id.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT OR REPLACE INTO queuekit_idempotency (queue, key, job, free_at)
VALUES (?1, ?2, ?3, NULL);
