-- Purpose: makes a queue fair: its pending jobs without a key get a turn of their own.
-- Parameters: 1 queue.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_ready SET lane = '' WHERE queue = ?1 AND lane IS NULL;
