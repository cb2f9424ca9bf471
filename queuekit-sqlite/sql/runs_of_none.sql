-- Purpose: finds leases that belong to no job.
-- Parameters: 1 queue, 2 how many.
-- Result: key of the job, claim.
-- Index: queuekit_claims_expiry, covering; queuekit_runs_claim, covering; the primary key. It
-- looks at every lease of the queue, so it runs on readers only, and only for short queues.
SELECT runs.job AS key, runs.claim AS claim
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
LEFT JOIN queuekit_jobs AS jobs ON jobs.key = runs.job
WHERE claims.queue = ?1 AND claims.finished_at IS NULL
    AND (jobs.state IS NOT 0 OR jobs.seq <> runs.seq)
LIMIT ?2;
