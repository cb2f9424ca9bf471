-- Purpose: finds claims under which no job runs.
-- Parameters: 1 queue, 2 how many.
-- Result: claims.
-- Index: queuekit_claims_expiry, covering; queuekit_running_claim, covering. It looks at every
-- claim of the queue, so it runs on readers only, and only for short queues.
SELECT claims.claim
FROM queuekit_claims AS claims
WHERE claims.queue = ?1
    AND NOT EXISTS (SELECT 1 FROM queuekit_running AS running WHERE running.claim = claims.claim)
LIMIT ?2;
