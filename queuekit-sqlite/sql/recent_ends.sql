-- Purpose: lists the newest ends of dead or cancelled jobs of a queue before a place.
-- Parameters: 1 name of the queue, 2 state, 3 finished_at and 4 end_seq of the place, 5 how many.
-- Result: id, finished_at, end_seq. No time is below 0: without a lower bound, the planner would
-- sort all that has ended.
-- Index: the unique index on the names of queues; queuekit_jobs_ended.
SELECT id, finished_at AS at, end_seq AS seq FROM queuekit_jobs
WHERE queue = (SELECT id FROM queuekit_queues WHERE name = ?1) AND state = ?2 AND state >= 3
    AND (finished_at, end_seq) < (?3, ?4) AND finished_at >= 0
ORDER BY finished_at DESC, end_seq DESC LIMIT ?5;
