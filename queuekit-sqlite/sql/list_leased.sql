-- Purpose: lists running jobs by the end of their lease, after a place.
-- Parameters: 1 queue, 2 lease_expires_at and 3 seq of the place, 4 how many.
-- Result: key, lease_expires_at, seq.
-- Index: queuekit_jobs_leased, covering.
SELECT key, lease_expires_at AS at, seq FROM queuekit_jobs
WHERE queue = ?1 AND state = 1 AND (lease_expires_at, seq) > (?2, ?3)
ORDER BY lease_expires_at, seq LIMIT ?4;
