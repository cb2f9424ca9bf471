-- Purpose: finds the job of a queue that has been dead or cancelled for the longest time.
-- Parameters: 1 queue, 2 state.
-- Result: finished_at, end_seq, key, or none.
-- Index: queuekit_jobs_ended, covering.
SELECT finished_at, end_seq, key FROM queuekit_jobs
WHERE queue = ?1 AND state = ?2 AND state >= 3
ORDER BY finished_at, end_seq LIMIT 1;
