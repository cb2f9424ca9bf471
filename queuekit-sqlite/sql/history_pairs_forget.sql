-- Purpose: forgets pairs of queue and kind that nothing was added to for long.
-- Parameters: 1 last added to before.
-- Index: none.
-- Locks: runs inside a step.
DELETE FROM queuekit_history_pairs WHERE last < ?1;
