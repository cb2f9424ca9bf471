-- Lists the runs of all queues.
-- Parameters: $1 resolution; $2 and $3 the rows begin from and before; $4..$6 time, queue and kind
-- of the row they come after; $7 how many at most.
-- Result: rows by time, queue and kind.
-- Index: history_runs_pkey.
-- Locks: nothing.
SELECT history_runs.at, history_runs.queue, history_runs.kind, history_runs.numbers
FROM queuekit.history_runs
WHERE
    history_runs.resolution = $1::smallint
    AND history_runs.at >= $2::bigint AND history_runs.at < $3::bigint
    AND (history_runs.at, history_runs.queue, history_runs.kind)
        > ($4::bigint, $5::text, $6::text)
ORDER BY history_runs.at, history_runs.queue, history_runs.kind
LIMIT $7::bigint
