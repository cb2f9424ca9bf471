-- Purpose: counts the waiting jobs of a strict queue that stand behind the head of their key.
-- Parameters: 1 queue.
-- Result: one number, or NULL without keys.
-- Index: the primary key; looks at each key of the queue, not at its jobs.
SELECT sum(waiting - (head IS NOT NULL) - (alarm IS NOT NULL)) FROM queuekit_lanes
WHERE queue = ?1 AND lane <> '';
