-- Adds deltas up in error groups, and counts the attempts that failed.
-- Parameters: $1 most deltas.
-- Result: a row per group that was added to, and hour: queue, kind and signature, a time of the hour,
-- the errors, how many deltas; and what was recent before, and the last error's time then.
-- Index: error_groups_pkey, counts_pkey; of deltas none: the table is short.
-- Locks: the rows it removes, those of groups, and the counters. The caller holds the lock of folding.
WITH taken AS (
    DELETE FROM queuekit.error_deltas
    WHERE error_deltas.ctid = ANY (ARRAY(
        SELECT part.ctid
        FROM queuekit.error_deltas AS part
        LIMIT $1::int
    ))
    RETURNING error_deltas.*
),
summed AS (
    SELECT
        taken.queue, taken.kind, taken.signature, sum(taken.failures) AS failures,
        sum(taken.deaths) AS deaths, min(taken.at) AS first, max(taken.at) AS last,
        (array_agg(taken.sample ORDER BY taken.id DESC))[1] AS sample
    FROM taken
    GROUP BY taken.queue, taken.kind, taken.signature
),
folded AS (
    INSERT INTO queuekit.error_groups AS old (
        queue, kind, signature, failures, deaths, first, last, sample
    )
    SELECT
        summed.queue, summed.kind, summed.signature, summed.failures, summed.deaths,
        summed.first, summed.last, summed.sample
    FROM summed
    JOIN queuekit.queues ON queues.id = summed.queue
    ON CONFLICT (queue, kind, signature) DO UPDATE
    SET
        failures = old.failures + excluded.failures,
        deaths = old.deaths + excluded.deaths,
        last = greatest(old.last, excluded.last),
        sample = excluded.sample
),
counted AS (
    INSERT INTO queuekit.counts AS old (queue, total_failed)
    SELECT failed.queue, failed.failures
    FROM (
        SELECT summed.queue, sum(summed.failures) AS failures
        FROM summed
        GROUP BY summed.queue
    ) AS failed
    JOIN queuekit.queues ON queues.id = failed.queue
    ORDER BY failed.queue
    ON CONFLICT (queue) DO UPDATE
    SET total_failed = old.total_failed + excluded.total_failed
)
SELECT
    hours.queue, hours.kind, hours.signature, hours.at, hours.errors, hours.deltas,
    coalesce(before.recent, '') AS recent, coalesce(before.last, 0) AS last
FROM (
    SELECT
        taken.queue, taken.kind, taken.signature, max(taken.at) AS at,
        sum(taken.errors) AS errors, count(*) AS deltas
    FROM taken
    GROUP BY taken.queue, taken.kind, taken.signature, taken.at / 3600000
) AS hours
-- As it was before this statement.
LEFT JOIN queuekit.error_groups AS before USING (queue, kind, signature)
