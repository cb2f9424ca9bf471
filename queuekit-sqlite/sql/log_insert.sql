-- Purpose: appends a log line of a run.
-- Parameters: 1 the job's key, 2 at, 3 line.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_logs (job, n, at, line)
VALUES (?1, 1 + coalesce((SELECT max(n) FROM queuekit_logs WHERE job = ?1), 0), ?2, ?3);
