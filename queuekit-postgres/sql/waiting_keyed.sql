-- Waiting jobs of a queue that have partition keys.
-- Parameters: $1 queue; $2 most.
-- Result: their ids.
-- Index: jobs_keyed, running_pkey.
-- Locks: nothing.
SELECT jobs.id
FROM queuekit.jobs
WHERE
    jobs.queue = $1::int AND jobs.indexed AND jobs.lane > ''
    AND NOT EXISTS (SELECT FROM queuekit.running WHERE running.id = jobs.id OFFSET 0)
LIMIT $2::int
