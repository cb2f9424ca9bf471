-- Purpose: the number of a job's last log line, from 1.
-- Parameters: 1 the job's id.
-- Result: last; NULL if it has none.
SELECT max(n) AS last FROM queuekit_logs
WHERE job = (SELECT key FROM queuekit_jobs WHERE id = ?1);
