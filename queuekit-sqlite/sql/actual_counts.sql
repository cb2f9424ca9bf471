-- Purpose: counts what a queue's counters say.
-- Parameters: 1 queue.
-- Result: state, jobs, bytes of payloads and results.
-- Index: the primary keys; queuekit_waiting_order, covering; queuekit_claims_expiry, covering;
-- queuekit_claims_finished, covering; queuekit_runs_claim, covering; queuekit_jobs_ended.
SELECT
    0 AS state,
    (SELECT count(*) FROM queuekit_ready WHERE queue = ?1)
    + (SELECT count(*) FROM queuekit_waiting WHERE queue = ?1) AS jobs,
    0 AS bytes
UNION ALL
SELECT 1, count(*), 0
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NULL
UNION ALL
SELECT 2, count(*), coalesce(sum(jobs.size), 0)
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
CROSS JOIN queuekit_jobs AS jobs ON jobs.key = runs.job
WHERE claims.queue = ?1 AND claims.finished_at IS NOT NULL
UNION ALL
SELECT state, count(*), sum(size) FROM queuekit_jobs WHERE queue = ?1 AND state >= 3
GROUP BY state;
