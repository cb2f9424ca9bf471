-- Purpose: stores the progress of a run.
-- Parameters: 1 key, 2 fraction, 3 message.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET progress = ?2, progress_message = ?3 WHERE key = ?1;
