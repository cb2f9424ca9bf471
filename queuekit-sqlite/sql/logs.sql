-- Purpose: reads a job's log lines, oldest first.
-- Parameters: 1 the job's key.
-- Result: at, line.
-- Index: the primary key.
SELECT at, line FROM queuekit_logs WHERE job = ?1 ORDER BY n;
