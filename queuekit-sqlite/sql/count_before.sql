-- Purpose: counts the open jobs of one priority up to a place.
-- Parameters: 1 queue, 2 rank, 3 scheduled_at and 4 seq of the place, 5 how many at most.
-- Result: one number.
-- Index: queuekit_jobs_pending, covering.
SELECT count(*) FROM (
    SELECT 1 FROM queuekit_jobs
    WHERE queue = ?1 AND state = 0 AND open = 1 AND rank = ?2
        AND (scheduled_at, seq) <= (?3, ?4)
    LIMIT ?5
);
