-- Purpose: finds the next less urgent priority in which a queue has ready jobs. Priorities are
-- probed one by one, so that future jobs of one never come before due jobs of another.
-- Parameters: 1 queue, 2 the rank probed last, -1 to begin.
-- Result: a rank, or none.
-- Index: the primary key.
SELECT rank FROM queuekit_ready
WHERE queue = ?1 AND rank > ?2
ORDER BY rank LIMIT 1;
