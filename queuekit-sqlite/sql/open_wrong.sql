-- Purpose: finds waiting jobs that are open and not the next of their key, or the other way round.
-- Parameters: 1 queue, 2 how many.
-- Result: keys.
-- Index: queuekit_jobs_pending; the primary key. It looks at every waiting job of the queue, so it
-- runs on readers only, and only for short queues.
SELECT jobs.key
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_lanes AS lanes ON lanes.queue = jobs.queue AND lanes.lane = jobs.lane
WHERE jobs.queue = ?1 AND jobs.state = 0 AND jobs.open <> (
    coalesce(jobs.lane, '') = '' OR coalesce(jobs.key = lanes.head, 0)
)
LIMIT ?2;
