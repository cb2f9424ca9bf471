-- Purpose: takes all jobs out of a claim.
-- Parameters: 1 claim.
-- Index: queuekit_running_claim.
-- Locks: runs inside a step.
DELETE FROM queuekit_running WHERE claim = ?1;
