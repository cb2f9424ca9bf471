-- Purpose: lists waiting jobs in serving order, after a place: merges the open ones and those
-- behind the head of their key.
-- Parameters: 1 queue, 2 rank, 3 scheduled_at and 4 seq of the place, 5 how many.
-- Result: key, rank, scheduled_at, seq.
-- Index: queuekit_jobs_pending, covering, once for the open and once for the others.
SELECT key, rank, scheduled_at, seq FROM (
    SELECT key, rank, scheduled_at, seq FROM (
        SELECT key, rank, scheduled_at, seq FROM queuekit_jobs
        WHERE queue = ?1 AND state = 0 AND open = 1 AND (rank, scheduled_at, seq) > (?2, ?3, ?4)
        ORDER BY rank, scheduled_at, seq LIMIT ?5
    )
    UNION ALL
    SELECT key, rank, scheduled_at, seq FROM (
        SELECT key, rank, scheduled_at, seq FROM queuekit_jobs
        WHERE queue = ?1 AND state = 0 AND open = 0 AND (rank, scheduled_at, seq) > (?2, ?3, ?4)
        ORDER BY rank, scheduled_at, seq LIMIT ?5
    )
)
ORDER BY rank, scheduled_at, seq LIMIT ?5;
