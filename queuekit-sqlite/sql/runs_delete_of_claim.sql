-- Purpose: takes all jobs out of a claim.
-- Parameters: 1 claim.
-- Index: queuekit_runs_claim.
-- Locks: runs inside a step.
DELETE FROM queuekit_runs WHERE claim = ?1;
