-- Purpose: finds leases that ran out, earliest first.
-- Parameters: 1 queue, 2 now, 3 how many.
-- Result: keys.
-- Index: queuekit_jobs_leased, covering.
SELECT key FROM queuekit_jobs
WHERE queue = ?1 AND state = 1 AND lease_expires_at <= ?2
ORDER BY lease_expires_at, seq LIMIT ?3;
