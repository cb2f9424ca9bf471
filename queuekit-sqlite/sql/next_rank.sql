-- Purpose: finds the next less urgent priority in which a queue has open jobs. Priorities are
-- probed one by one, so that future jobs of one never come before due jobs of another.
-- Parameters: 1 queue, 2 the rank probed last, -1 to begin.
-- Result: a rank, or none.
-- Index: queuekit_jobs_pending.
SELECT rank FROM queuekit_jobs
WHERE queue = ?1 AND state = 0 AND open = 1 AND rank > ?2
ORDER BY rank LIMIT 1;
