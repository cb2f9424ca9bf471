-- Marks the jobs of a queue whose time has come. While waiting jobs blocked their keys, these marks
-- were not kept.
-- Parameters: $1 queue.
-- Result: none.
-- Index: jobs_coming.
-- Locks: the bodies it changes. The caller holds the queue's lock.
UPDATE queuekit.jobs
SET later = false
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
WHERE
    jobs.queue = $1::int AND jobs.indexed AND jobs.later AND jobs.scheduled_at <= clock.now
