-- Sets a queue's counters to the true counts, by one more delta.
-- Parameters: $1 queue.
-- Result: one number: how many counters were off.
-- Index: ready_order, jobs_lane, jobs_later, running_expiry, dead_order, ended_order, counts_pkey,
-- deltas_queue.
-- Locks: nothing.
WITH told AS MATERIALIZED (
    SELECT
        sum(part.pending) AS pending, sum(part.running) AS running,
        sum(part.completed) AS completed, sum(part.dead) AS dead,
        sum(part.cancelled) AS cancelled, sum(part.completed_size) AS completed_size,
        sum(part.dead_size) AS dead_size, sum(part.cancelled_size) AS cancelled_size
    FROM (
        SELECT
            counts.pending, counts.running, counts.completed, counts.dead, counts.cancelled,
            counts.completed_size, counts.dead_size, counts.cancelled_size
        FROM queuekit.counts
        WHERE counts.queue = $1::int
        UNION ALL
        SELECT
            deltas.pending, deltas.running, deltas.completed, deltas.dead, deltas.cancelled,
            deltas.completed_size, deltas.dead_size, deltas.cancelled_size
        FROM queuekit.deltas
        WHERE deltas.queue = $1::int
    ) AS part
),
running AS MATERIALIZED (
    SELECT count(*) AS jobs, count(*) FILTER (WHERE running.lane > '') AS keyed
    FROM queuekit.running
    WHERE running.queue = $1::int
),
waiting AS MATERIALIZED (
    SELECT
        (
            SELECT count(*)
            FROM generate_series(0, 31) AS level (rank)
            JOIN queuekit.ready
                ON ready.queue = $1::int AND ready.rank = level.rank::smallint
                AND ready.slot IS NULL
        )
        + (
            SELECT count(*)
            FROM queuekit.jobs
            WHERE jobs.queue = $1::int AND jobs.indexed AND jobs.lane > ''
        )
        - (SELECT keyed FROM running) AS jobs
),
died AS MATERIALIZED (
    SELECT count(*) AS jobs, coalesce(sum(length(dead.payload)), 0) AS size
    FROM queuekit.dead
    WHERE dead.queue = $1::int
),
ended AS MATERIALIZED (
    SELECT
        count(*) FILTER (WHERE ended.state = 2) AS completed,
        count(*) FILTER (WHERE ended.state = 4) AS cancelled,
        coalesce(sum(ended.size) FILTER (WHERE ended.state = 2), 0) AS completed_size,
        coalesce(sum(ended.size) FILTER (WHERE ended.state = 4), 0) AS cancelled_size
    FROM (VALUES (2), (4)) AS wanted (state)
    JOIN queuekit.ended ON ended.queue = $1::int AND ended.state = wanted.state::smallint
),
off AS MATERIALIZED (
    SELECT
        waiting.jobs - coalesce(told.pending, 0) AS pending,
        running.jobs - coalesce(told.running, 0) AS running,
        ended.completed - coalesce(told.completed, 0) AS completed,
        died.jobs - coalesce(told.dead, 0) AS dead,
        ended.cancelled - coalesce(told.cancelled, 0) AS cancelled,
        ended.completed_size - coalesce(told.completed_size, 0) AS completed_size,
        died.size - coalesce(told.dead_size, 0) AS dead_size,
        ended.cancelled_size - coalesce(told.cancelled_size, 0) AS cancelled_size
    FROM told
    CROSS JOIN running
    CROSS JOIN waiting
    CROSS JOIN died
    CROSS JOIN ended
),
wrong AS MATERIALIZED (
    SELECT
        off.*,
        (off.pending <> 0)::int + (off.running <> 0)::int
        + (off.completed <> 0 OR off.completed_size <> 0)::int
        + (off.dead <> 0 OR off.dead_size <> 0)::int
        + (off.cancelled <> 0 OR off.cancelled_size <> 0)::int AS counters
    FROM off
),
mended AS (
    INSERT INTO queuekit.deltas (
        queue, pending, running, completed, dead, cancelled, completed_size, dead_size,
        cancelled_size
    )
    SELECT
        $1::int, wrong.pending, wrong.running, wrong.completed, wrong.dead, wrong.cancelled,
        wrong.completed_size, wrong.dead_size, wrong.cancelled_size
    FROM wrong
    WHERE wrong.counters > 0
)
SELECT wrong.counters::bigint AS counters
FROM wrong
