-- How many jobs a strict queue serves before a place, up to a bound.
-- Parameters: $1 queue; $2 rank, $3 time, $4 sequence of the place; $5 the bound.
-- Result: one number. Jobs whose partition keys are still on the agenda are not counted.
-- Index: ready_order.
-- Locks: nothing.
SELECT count(*) AS jobs
FROM (
    SELECT
    FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN generate_series(0, $2::smallint::int) AS level (rank)
    CROSS JOIN LATERAL (
        SELECT
        FROM queuekit.ready
        WHERE
            ready.queue = $1::int AND ready.rank = level.rank::smallint
            AND ready.at <= clock.now
            AND (level.rank < $2::smallint OR (ready.at, ready.seq) < ($3::bigint, $4::bigint))
        ORDER BY ready.at, ready.seq
        LIMIT $5::int
    ) AS due
    LIMIT $5::int
) AS earlier
