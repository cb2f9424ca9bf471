-- Purpose: finds when the first ready job of one priority is due.
-- Parameters: 1 queue, 2 rank.
-- Result: scheduled_at, or none.
-- Index: the primary key.
SELECT at AS scheduled_at FROM queuekit_ready
WHERE queue = ?1 AND rank = ?2
ORDER BY at LIMIT 1;
