-- Purpose: finds leases of no job: claims that are not finished, and under which no job stands.
-- Parameters: 1 queue, 2 how many.
-- Result: claims.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering. It looks at every
-- claim of the queue, so it runs on readers only, and only for short queues.
SELECT claims.claim
FROM queuekit_claims AS claims
WHERE claims.queue = ?1 AND claims.finished_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM queuekit_runs AS runs WHERE runs.claim = claims.claim)
LIMIT ?2;
