-- Purpose: counts leases that ran out.
-- Parameters: 1 queue, 2 now, 3 how many at most.
-- Result: one number.
-- Index: queuekit_jobs_leased, covering.
SELECT count(*) FROM (
    SELECT 1 FROM queuekit_jobs
    WHERE queue = ?1 AND state = 1 AND lease_expires_at <= ?2
    LIMIT ?3
);
