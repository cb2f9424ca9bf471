-- Purpose: stores the result of a step of a job that has none of this name.
-- Parameters: 1 the job's key, 2 the name, 3 at, 4 the result.
-- Index: queuekit_checkpoints_job, which it adds to.
-- Locks: runs inside a step.
INSERT INTO queuekit_checkpoints (job, name, at, result) VALUES (?1, ?2, ?3, ?4);
