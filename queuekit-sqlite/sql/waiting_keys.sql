-- Purpose: reads the waiting jobs of a queue, to find their statuses.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: queuekit_jobs_pending, covering.
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state = 0 LIMIT ?2;
