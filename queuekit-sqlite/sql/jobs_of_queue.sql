-- Purpose: finds jobs of a queue in any state but running.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: the primary keys; queuekit_claims_finished, covering; queuekit_runs_claim, covering;
-- queuekit_jobs_ended.
SELECT job AS key FROM queuekit_ready WHERE queue = ?1
UNION ALL
SELECT job FROM queuekit_waiting WHERE queue = ?1
UNION ALL
SELECT runs.job
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NOT NULL
UNION ALL
SELECT key FROM queuekit_jobs WHERE queue = ?1 AND state >= 3
LIMIT ?2;
