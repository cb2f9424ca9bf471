-- Purpose: finds when the next lease of a queue runs out.
-- Parameters: 1 queue.
-- Result: expires_at, or none.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering.
SELECT claims.expires_at
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NULL
ORDER BY claims.expires_at LIMIT 1;
