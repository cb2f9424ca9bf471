-- Purpose: finds jobs of a queue in any state but running.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: the primary keys; queuekit_jobs_ended.
SELECT job AS key FROM queuekit_ready WHERE queue = ?1
UNION ALL
SELECT job FROM queuekit_waiting WHERE queue = ?1
UNION ALL
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state >= 2
LIMIT ?2;
