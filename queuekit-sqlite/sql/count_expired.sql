-- Purpose: counts leases that ran out.
-- Parameters: 1 queue, 2 now, 3 how many at most.
-- Result: one number.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering.
SELECT count(*) FROM (
    SELECT 1
    FROM queuekit_claims AS claims
    CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
    WHERE claims.queue = ?1 AND claims.finished_at IS NULL AND claims.expires_at <= ?2
    LIMIT ?3
);
