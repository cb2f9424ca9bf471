-- Purpose: finds jobs of a queue in any state but running.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: queuekit_jobs_pending, queuekit_jobs_ended.
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state = 0
UNION ALL
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state >= 2
LIMIT ?2;
