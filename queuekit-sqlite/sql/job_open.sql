-- Purpose: opens or closes a pending job as the next of its key.
-- Parameters: 1 key, 2 whether it is open.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET open = ?2 WHERE key = ?1 AND state = 0;
