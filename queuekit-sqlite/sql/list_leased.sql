-- Purpose: lists running jobs by the end of their lease, after a place.
-- Parameters: 1 queue, 2 expires_at and 3 seq of the place, 4 how many.
-- Result: key, expires_at, seq.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering.
SELECT runs.job AS key, claims.expires_at AS at, runs.seq AS seq
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NULL AND claims.expires_at >= ?2
    AND (claims.expires_at, runs.seq) > (?2, ?3)
ORDER BY claims.expires_at, runs.seq LIMIT ?4;
