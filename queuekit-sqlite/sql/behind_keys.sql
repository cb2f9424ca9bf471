-- Purpose: reads the pending jobs that are not ready: those behind the head of their key, and those
-- with a key in a fair queue.
-- Parameters: 1 queue, 2 how many at most.
-- Result: keys.
-- Index: the primary key.
SELECT job AS key FROM queuekit_waiting WHERE queue = ?1 LIMIT ?2;
