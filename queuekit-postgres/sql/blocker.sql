-- The job that blocks a partition key: a dead one that holds the key, else one that runs, else the
-- first that waits.
-- Parameters: $1 queue; $2 partition key.
-- Result: its id, if there is one.
-- Index: dead_holds, running_slot, jobs_lane, jobs_later.
-- Locks: nothing.
SELECT job.id
FROM (
    SELECT dead.id, dead.seq, 0 AS kind
    FROM queuekit.dead
    JOIN queuekit.queues ON queues.id = dead.queue AND queues.holds_dead
    WHERE dead.queue = $1::int AND dead.lane = $2::text AND dead.holds
    UNION ALL
    SELECT running.id, running.seq, 1
    FROM queuekit.running
    WHERE running.queue = $1::int AND running.lane = $2::text AND running.slot IS NOT NULL
    UNION ALL
    (
        SELECT jobs.id, jobs.seq, 2
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = $2::text AND jobs.indexed AND NOT jobs.later
        ORDER BY jobs.seq
        LIMIT 1
    )
    UNION ALL
    (
        SELECT jobs.id, jobs.seq, 2
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = $2::text AND jobs.indexed AND jobs.later
        ORDER BY jobs.seq
        LIMIT 1
    )
) AS job
ORDER BY job.kind, job.seq
LIMIT 1
