-- Completed or cancelled jobs of a queue that ended at a time or later, those that ended last
-- first, after a place.
-- Parameters: $1 queue; $2 state; $3 time, $4 sequence of the place; $5 most; $6 the time.
-- Result: id, time, sequence, kind, in order.
-- Index: done_order.
-- Locks: nothing.
SELECT done.id, done.finished_at AS time, done.seq, done.kind
FROM queuekit.done
WHERE
    done.queue = $1::int AND done.state = $2::smallint
    AND done.finished_at <= $3::bigint
    AND (done.finished_at, done.seq) < ($3::bigint, $4::bigint)
    AND done.finished_at >= $6::bigint
ORDER BY done.finished_at DESC, done.seq DESC
LIMIT $5::int
