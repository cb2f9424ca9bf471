-- Purpose: reads the ready jobs of one priority whose time has not come.
-- Parameters: 1 queue, 2 rank, 3 now, 4 how many at most.
-- Result: keys.
-- Index: the primary key.
SELECT job AS key FROM queuekit_ready
WHERE queue = ?1 AND rank = ?2 AND at > ?3
LIMIT ?4;
