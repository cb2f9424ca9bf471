-- Purpose: puts a job that has completed under the claim that says so.
-- Parameters: 1 the job's key, 2 claim.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_runs SET
    claim = ?2, lane = NULL, cancel_requested = 2 * (cancel_requested > 0)
WHERE job = ?1;
