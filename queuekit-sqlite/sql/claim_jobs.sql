-- Purpose: counts the jobs that stand under a claim: at most as many as a reserve call may lease.
-- Parameters: 1 claim.
-- Result: one number.
-- Index: queuekit_runs_claim, covering.
SELECT count(*) FROM queuekit_runs WHERE claim = ?1;
