-- Purpose: where waiting jobs are passed, finds the last job of a key that can get one of its free
-- leases. It looks at no more than 10,000 jobs whose time has come without a mark.
-- Parameters: 1 queue, 2 lane, 3 now, 4 how many leases are free.
-- Result: seq, or none if there are leases for all.
-- Index: queuekit_jobs_due, queuekit_jobs_later.
SELECT seq FROM (
    SELECT seq FROM (
        SELECT seq FROM queuekit_jobs
        WHERE queue = ?1 AND lane = ?2 AND due = 1 AND scheduled_at <= ?3
        ORDER BY seq LIMIT ?4
    )
    UNION ALL
    SELECT seq FROM (
        SELECT seq FROM queuekit_jobs
        WHERE queue = ?1 AND lane = ?2 AND due = 0 AND scheduled_at <= ?3
        ORDER BY scheduled_at, seq LIMIT 10000
    )
)
ORDER BY seq LIMIT 1 OFFSET ?4 - 1;
