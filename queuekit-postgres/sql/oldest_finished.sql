-- The completed or cancelled jobs of a queue that ended first.
-- Parameters: $1 queue; $2 most.
-- Result: id, finished_at, bytes, in order.
-- Index: ended_order.
-- Locks: nothing.
SELECT job.id, job.finished_at, job.size
FROM (VALUES (2), (4)) AS wanted (state)
CROSS JOIN LATERAL (
    SELECT ended.id, ended.finished_at, ended.seq, ended.size::bigint AS size
    FROM queuekit.ended
    WHERE ended.queue = $1::int AND ended.state = wanted.state::smallint
    ORDER BY ended.finished_at, ended.seq
    LIMIT $2::int
) AS job
ORDER BY job.finished_at, job.seq
LIMIT $2::int
