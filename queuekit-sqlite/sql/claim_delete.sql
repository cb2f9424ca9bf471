-- Purpose: forgets a claim, unless a job stands under it.
-- Parameters: 1 claim.
-- Index: the primary key; queuekit_runs_claim, covering.
-- Locks: runs inside a step.
DELETE FROM queuekit_claims
WHERE claim = ?1 AND NOT EXISTS (SELECT 1 FROM queuekit_runs WHERE claim = ?1);
