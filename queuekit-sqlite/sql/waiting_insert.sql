-- Purpose: lets a job wait behind the head of its key.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_waiting (queue, lane, seq, at, rank, due, job)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
