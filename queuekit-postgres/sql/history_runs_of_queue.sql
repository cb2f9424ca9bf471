-- Lists the runs of one queue.
-- Parameters: $1 the queue; $2 resolution; $3 and $4 the rows begin from and before; $5 and $6 time
-- and kind of the row they come after; $7 how many at most.
-- Result: rows by time and kind.
-- Index: history_runs_queue.
-- Locks: nothing.
SELECT history_runs.at, history_runs.queue, history_runs.kind, history_runs.numbers
FROM queuekit.history_runs
WHERE
    history_runs.queue = $1::text AND history_runs.resolution = $2::smallint
    AND history_runs.at >= $3::bigint AND history_runs.at < $4::bigint
    AND (history_runs.at, history_runs.kind) > ($5::bigint, $6::text)
ORDER BY history_runs.at, history_runs.kind
LIMIT $7::bigint
