-- Counts of waiting jobs of queues; each counts up to a bound.
-- Parameters: $1 queues; $2 the bound.
-- Result: a row per queue: queue; since when the oldest job without partition key is due; how many
-- without one are not due; how many of these have failed; how many jobs have a key; how many
-- without one are due, if a count before this one reached the bound, else NULL: they are the rest
-- of those that wait; leases that ran out.
-- Index: queues_pkey, ready_order, jobs_failed, running_pkey, jobs_keyed, running_expiry.
-- Locks: nothing.
SELECT
    queues.id, oldest.at AS oldest, later.jobs AS later, failed.jobs AS failed,
    keyed.jobs AS keyed, due.jobs AS due, lease.expired
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.queues
-- The few ranks that there are. A look at each of 32 costs more than all the rest.
CROSS JOIN LATERAL (
    SELECT ARRAY(
        WITH RECURSIVE found AS (
            (
                SELECT ready.rank
                FROM queuekit.ready
                WHERE ready.queue = queues.id AND ready.rank >= 0
                ORDER BY ready.rank
                LIMIT 1
            )
            UNION ALL
            SELECT next.rank
            FROM found
            CROSS JOIN LATERAL (
                SELECT ready.rank
                FROM queuekit.ready
                WHERE ready.queue = queues.id AND ready.rank > found.rank
                ORDER BY ready.rank
                LIMIT 1
            ) AS next
        )
        SELECT found.rank
        FROM found
    ) AS ranks
    OFFSET 0
) AS levels
CROSS JOIN LATERAL (
    SELECT min(first.at) AS at
    FROM unnest(levels.ranks) AS level (rank)
    CROSS JOIN LATERAL (
        SELECT ready.at
        FROM queuekit.ready
        WHERE
            ready.queue = queues.id AND ready.rank = level.rank
            AND ready.at <= clock.now AND ready.slot IS NULL
        ORDER BY ready.at, ready.seq
        LIMIT 1
    ) AS first
) AS oldest
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM unnest(levels.ranks) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT
            FROM queuekit.ready
            WHERE
                ready.queue = queues.id AND ready.rank = level.rank
                AND ready.at > clock.now AND ready.slot IS NULL
            ORDER BY ready.at, ready.seq
            LIMIT $2::int
        ) AS job
        LIMIT $2::int
    ) AS part
) AS later
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM queuekit.jobs
        WHERE
            jobs.queue = queues.id AND jobs.scheduled_at > clock.now
            AND jobs.indexed
            AND jobs.attempts > 0 AND coalesce(jobs.lane, '') = ''
            AND NOT EXISTS (SELECT FROM queuekit.running WHERE running.id = jobs.id OFFSET 0)
        LIMIT $2::int
    ) AS part
) AS failed
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM queuekit.jobs
        WHERE jobs.queue = queues.id AND jobs.indexed AND jobs.lane > ''
        LIMIT $2::int
    ) AS part
) AS keyed
CROSS JOIN LATERAL (
    SELECT CASE WHEN $2::int <= greatest(later.jobs, keyed.jobs) THEN count(*) END AS jobs
    FROM (
        SELECT
        FROM unnest(levels.ranks) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT
            FROM queuekit.ready
            WHERE
                ready.queue = queues.id AND ready.rank = level.rank
                AND ready.at <= clock.now AND ready.slot IS NULL
            ORDER BY ready.at, ready.seq
            LIMIT $2::int
        ) AS job
        WHERE $2::int <= greatest(later.jobs, keyed.jobs)
        LIMIT $2::int
    ) AS part
) AS due
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
