-- Lists recorded totals of one queue.
-- Parameters: $1 the queue; $2 resolution; $3 and $4 the rows begin from and before; $5 how many at
-- most.
-- Result: rows by time.
-- Index: history_totals_queue.
-- Locks: nothing.
SELECT
    history_totals.at, history_totals.queue, history_totals.read_at, history_totals.enqueued,
    history_totals.completed, history_totals.failed, history_totals.dead, history_totals.cancelled
FROM queuekit.history_totals
WHERE
    history_totals.queue = $1::text AND history_totals.resolution = $2::smallint
    AND history_totals.at >= $3::bigint AND history_totals.at < $4::bigint
ORDER BY history_totals.at
LIMIT $5::bigint
