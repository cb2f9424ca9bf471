-- Purpose: finds leases that ran out, earliest first; of one claim those of the first jobs.
-- Parameters: 1 queue, 2 now, 3 how many.
-- Result: keys of jobs.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering.
SELECT runs.job AS key
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NULL AND claims.expires_at <= ?2
ORDER BY claims.expires_at, claims.claim, runs.seq LIMIT ?3;
