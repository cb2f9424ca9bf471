-- Purpose: makes a job ready.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_ready (queue, rank, at, seq, job, lane) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
