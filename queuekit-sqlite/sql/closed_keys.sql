-- Purpose: reads the waiting jobs that are not open: those behind the head of their key, and
-- those with a key in a fair queue.
-- Parameters: 1 queue, 2 how many at most.
-- Result: keys.
-- Index: queuekit_jobs_pending, covering.
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state = 0 AND open = 0 LIMIT ?2;
