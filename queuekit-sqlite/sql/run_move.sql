-- Purpose: moves a running job to another claim.
-- Parameters: 1 the job's key, 2 claim.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_runs SET claim = ?2 WHERE job = ?1;
