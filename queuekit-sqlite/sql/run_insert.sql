-- Purpose: lets a job run under a claim.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT OR REPLACE INTO queuekit_runs (job, claim, queue, seq, lane) VALUES (?1, ?2, ?3, ?4, ?5);
