-- Purpose: finds the job of a queue that completed first.
-- Parameters: 1 queue.
-- Result: finished_at, end_seq, key, or none.
-- Index: queuekit_claims_finished; queuekit_runs_claim, covering.
SELECT claims.finished_at, runs.seq + claims.end_offset AS end_seq, runs.job AS key
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE claims.queue = ?1 AND claims.finished_at IS NOT NULL
ORDER BY claims.finished_at, claims.end_seq, claims.claim, runs.seq LIMIT 1;
