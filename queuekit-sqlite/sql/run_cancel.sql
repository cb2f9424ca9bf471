-- Purpose: asks a running job to stop.
-- Parameters: 1 the job's key.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_runs SET cancel_requested = 1 WHERE job = ?1;
