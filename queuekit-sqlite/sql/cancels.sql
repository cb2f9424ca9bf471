-- Purpose: finds running jobs that were asked to stop.
-- Parameters: 1 most.
-- Result: for each its key, the number of its lease, and the name of its queue.
-- Index: queuekit_jobs_cancels; the primary key of the queues.
SELECT jobs.key AS key, jobs.lease_seq AS lease_seq, queues.name AS queue
FROM queuekit_jobs AS jobs INDEXED BY queuekit_jobs_cancels
CROSS JOIN queuekit_queues AS queues ON queues.id = jobs.queue
WHERE jobs.state = 1 AND jobs.cancel_requested = 1
LIMIT ?1;
