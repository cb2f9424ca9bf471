-- Some jobs of a queue, in whatever state.
-- Parameters: $1 queue; $2 most.
-- Result: their ids; one may come twice. Those that run come first.
-- Index: running_expiry, ready_order, jobs_lane, jobs_later, dead_order, ended_order.
-- Locks: nothing.
SELECT job.id
FROM (
    SELECT running.id
    FROM queuekit.running
    WHERE running.queue = $1::int
    UNION ALL
    SELECT ready.id
    FROM generate_series(-1, 31) AS level (rank)
    JOIN queuekit.ready ON ready.queue = $1::int AND ready.rank = level.rank::smallint
    UNION ALL
    SELECT jobs.id
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.indexed
        AND jobs.lane IS NOT NULL AND NOT jobs.later
    UNION ALL
    SELECT jobs.id
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.indexed AND jobs.later
    UNION ALL
    SELECT dead.id
    FROM queuekit.dead
    WHERE dead.queue = $1::int
    UNION ALL
    SELECT ended.id
    FROM queuekit.ended
    WHERE ended.queue = $1::int
) AS job (id)
LIMIT $2::int
