-- Lists recorded totals of all queues.
-- Parameters: $1 resolution; $2 and $3 the rows begin from and before; $4 and $5 time and queue of
-- the row they come after; $6 how many at most.
-- Result: rows by time and queue.
-- Index: history_totals_pkey.
-- Locks: nothing.
SELECT
    history_totals.at, history_totals.queue, history_totals.read_at, history_totals.enqueued,
    history_totals.completed, history_totals.failed, history_totals.dead, history_totals.cancelled
FROM queuekit.history_totals
WHERE
    history_totals.resolution = $1::smallint
    AND history_totals.at >= $2::bigint AND history_totals.at < $3::bigint
    AND (history_totals.at, history_totals.queue) > ($4::bigint, $5::text)
ORDER BY history_totals.at, history_totals.queue
LIMIT $6::bigint
