-- Purpose: reads the pending jobs of a queue, to find their statuses.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: the primary keys.
SELECT job AS key FROM queuekit_ready WHERE queue = ?1
UNION ALL
SELECT job FROM queuekit_waiting WHERE queue = ?1
LIMIT ?2;
