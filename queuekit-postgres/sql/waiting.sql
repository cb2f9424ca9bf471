-- Counts of waiting jobs of queues; each counts up to a bound.
-- Parameters: $1 queues; $2 the bound.
-- Result: a row per queue: queue; jobs without partition key that are due, and since when the
-- oldest; those that are not due and have failed; those that are not due and have not failed; jobs
-- with a key; leases that ran out.
-- Index: queues_pkey, ready_order, jobs_pkey, jobs_keyed, running_expiry.
-- Locks: nothing.
SELECT
    queues.id, plain.due, plain.oldest, future.failed, future.scheduled, keyed.jobs AS keyed,
    lease.expired
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.queues
CROSS JOIN LATERAL (
    SELECT count(*) AS due, min(part.at) AS oldest
    FROM (
        SELECT due.at
        FROM generate_series(0, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT ready.at
            FROM queuekit.ready
            WHERE
                ready.queue = queues.id AND ready.rank = level.rank::smallint
                AND ready.at <= clock.now AND ready.slot IS NULL
            ORDER BY ready.at, ready.seq
            LIMIT $2::int
        ) AS due
        LIMIT $2::int
    ) AS part
) AS plain
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE part.attempts > 0) AS failed,
        count(*) FILTER (WHERE part.attempts = 0) AS scheduled
    FROM (
        SELECT job.attempts
        FROM generate_series(0, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT ready.id
            FROM queuekit.ready
            WHERE
                ready.queue = queues.id AND ready.rank = level.rank::smallint
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
) AS future
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM queuekit.jobs
        WHERE jobs.queue = queues.id AND jobs.lane > ''
        LIMIT $2::int
    ) AS part
) AS keyed
CROSS JOIN LATERAL (
    SELECT count(*) AS expired
    FROM (
        SELECT
        FROM queuekit.running
        WHERE running.queue = queues.id AND running.lease_expires_at <= clock.now
        LIMIT $2::int
    ) AS part
) AS lease
WHERE queues.id = ANY ($1::int[])
