-- Purpose: lists running jobs by the end of their lease, after a place.
-- Parameters: 1 queue, 2 expires_at and 3 seq of the place, 4 how many.
-- Result: key, expires_at, seq.
-- Index: queuekit_claims_expiry, covering; queuekit_running_claim, covering.
SELECT running.job AS key, claims.expires_at AS at, running.seq AS seq
FROM queuekit_claims AS claims
CROSS JOIN queuekit_running AS running ON running.claim = claims.claim
WHERE claims.queue = ?1 AND claims.expires_at >= ?2
    AND (claims.expires_at, running.seq) > (?2, ?3)
ORDER BY claims.expires_at, running.seq LIMIT ?4;
