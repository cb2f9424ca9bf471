-- Completed or cancelled jobs of a queue that ended at a time or later, those that ended last
-- first, after a place.
-- Parameters: $1 queue; $2 state; $3 time, $4 sequence of the place; $5 most; $6 the time.
-- Result: id, time, sequence, kind, in order.
-- Index: ended_order, jobs_pkey.
-- Locks: nothing.
SELECT
    ended.id, ended.finished_at AS time, ended.seq,
    (SELECT jobs.kind FROM queuekit.jobs WHERE jobs.id = ended.id) AS kind
FROM queuekit.ended
WHERE
    ended.queue = $1::int AND ended.state = $2::smallint
    AND (ended.finished_at, ended.seq) < ($3::bigint, $4::bigint)
    AND ended.finished_at >= $6::bigint
ORDER BY ended.finished_at DESC, ended.seq DESC
LIMIT $5::int
