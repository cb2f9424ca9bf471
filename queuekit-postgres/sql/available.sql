-- How many jobs each of some queues could give now, up to a bound.
-- Parameters: $1 queue names; $2 the bound.
-- Result: a row per queue that is not paused: name, jobs. Jobs whose partition keys are still on
-- the agenda are not counted.
-- Index: queues_name_key, ready_order.
-- Locks: nothing.
SELECT queues.name, due.jobs
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.queues
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM generate_series(-1, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT
            FROM queuekit.ready
            WHERE
                ready.queue = queues.id
                AND ready.rank = level.rank::smallint
                AND ready.at <= clock.now
            ORDER BY ready.at, ready.seq
            LIMIT $2::int
        ) AS first
        LIMIT $2::int
    ) AS part
) AS due
WHERE queues.name = ANY ($1::text[]) AND queues.paused_until <= clock.now
