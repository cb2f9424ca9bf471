-- Of the next jobs without partition key that are not due, how many have failed.
-- Parameters: $1 queue; $2 most jobs.
-- Result: one row: jobs; how many of them have failed.
-- Index: ready_order, jobs_pkey.
-- Locks: nothing.
SELECT count(*) AS jobs, count(*) FILTER (WHERE part.attempts > 0) AS failed
FROM (
    SELECT job.attempts
    FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN generate_series(0, 31) AS level (rank)
    CROSS JOIN LATERAL (
        SELECT ready.id
        FROM queuekit.ready
        WHERE
            ready.queue = $1::int AND ready.rank = level.rank::smallint
            AND ready.at > clock.now AND ready.slot IS NULL
        ORDER BY ready.at, ready.seq
        LIMIT $2::int
    ) AS later
    CROSS JOIN LATERAL (
        SELECT jobs.attempts
        FROM queuekit.jobs
        WHERE jobs.id = later.id
        OFFSET 0
    ) AS job
    LIMIT $2::int
) AS part
