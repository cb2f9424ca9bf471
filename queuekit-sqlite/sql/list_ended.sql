-- Purpose: lists dead or cancelled jobs that ended at a time or later, newest first, after a place.
-- Parameters: 1 queue, 2 state, 3 finished_at and 4 end_seq of the place, 5 how many,
-- 6 the time.
-- Result: key, finished_at, end_seq.
-- Index: queuekit_jobs_ended, covering.
SELECT key, finished_at AS at, end_seq AS seq FROM queuekit_jobs
WHERE queue = ?1 AND state = ?2 AND state >= 3 AND (finished_at, end_seq) < (?3, ?4)
    AND finished_at >= ?6
ORDER BY finished_at DESC, end_seq DESC LIMIT ?5;
