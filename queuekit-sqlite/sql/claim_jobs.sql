-- Purpose: counts the jobs that run under a claim: at most as many as a reserve call may lease.
-- Parameters: 1 claim.
-- Result: one number.
-- Index: queuekit_running_claim, covering.
SELECT count(*) FROM queuekit_running WHERE claim = ?1;
