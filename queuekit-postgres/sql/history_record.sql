-- Records the totals of each queue whose totals have changed since they were recorded. A row that
-- is there is left: the first wins.
-- Parameters: $1 now; $2 the minute; a row per resolution: $3 its number, $4 the beginning of its
-- time.
-- Result: none.
-- Index: queues_pkey, counts_pkey; of deltas none: the tables are short.
-- Locks: the mark; the counters of queues that have changed. The caller holds the lock of folding.
WITH marked AS (
    UPDATE queuekit.history_mark
    SET minute = $2::bigint
),
delta AS (
    SELECT
        deltas.queue,
        sum(deltas.pending + deltas.running + deltas.completed + deltas.dead + deltas.cancelled)
            AS stored,
        sum(greatest(
            0, - deltas.pending - deltas.running - deltas.completed - deltas.dead - deltas.cancelled
        )) AS removed,
        sum(deltas.ended) AS ended, sum(deltas.died) AS died,
        sum(deltas.cancelled) FILTER (WHERE deltas.ended > 0) AS cancelled
    FROM queuekit.deltas
    GROUP BY deltas.queue
),
failure AS (
    SELECT error_deltas.queue, sum(error_deltas.failures) AS failed
    FROM queuekit.error_deltas
    GROUP BY error_deltas.queue
),
total AS (
    SELECT
        queues.id, queues.name,
        coalesce(
            counts.pending + counts.running + counts.completed + counts.dead + counts.cancelled
            + counts.total_removed, 0
        ) + coalesce(delta.stored + delta.removed, 0) AS enqueued,
        coalesce(counts.total_ended, 0) + coalesce(delta.ended, 0) AS ended,
        coalesce(counts.total_failed, 0) + coalesce(failure.failed, 0) AS failed,
        coalesce(counts.total_dead, 0) + coalesce(delta.died, 0) AS dead,
        coalesce(counts.total_cancelled, 0) + coalesce(delta.cancelled, 0) AS cancelled,
        coalesce(counts.recorded, '{0,0,0,0,0}') AS recorded
    FROM queuekit.queues
    LEFT JOIN queuekit.counts ON counts.queue = queues.id
    LEFT JOIN delta ON delta.queue = queues.id
    LEFT JOIN failure ON failure.queue = queues.id
),
changed AS (
    SELECT
        total.id, total.name, total.recorded,
        ARRAY[
            total.enqueued, greatest(0, total.ended - total.dead - total.cancelled),
            total.failed, total.dead, total.cancelled
        ]::bigint[] AS totals
    FROM total
),
noted AS (
    INSERT INTO queuekit.counts (queue, recorded)
    SELECT changed.id, changed.totals
    FROM changed
    WHERE changed.totals <> changed.recorded
    ORDER BY changed.id
    ON CONFLICT (queue) DO UPDATE
    SET recorded = excluded.recorded
)
INSERT INTO queuekit.history_totals (
    resolution, at, queue, read_at, enqueued, completed, failed, dead, cancelled
)
SELECT
    part.resolution, part.at, changed.name, $1::bigint, changed.totals[1], changed.totals[2],
    changed.totals[3], changed.totals[4], changed.totals[5]
FROM changed
CROSS JOIN unnest($3::smallint[], $4::bigint[]) AS part (resolution, at)
WHERE changed.totals <> changed.recorded
ON CONFLICT (resolution, at, queue) DO NOTHING
