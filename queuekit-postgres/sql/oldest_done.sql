-- The completed or cancelled jobs of a queue that ended first.
-- Parameters: $1 queue; $2 most.
-- Result: id, finished_at, bytes, in order.
-- Index: done_order.
-- Locks: nothing.
SELECT job.id, job.finished_at, job.size
FROM (VALUES (2), (4)) AS ended (state)
CROSS JOIN LATERAL (
    SELECT
        done.id, done.finished_at, done.seq,
        (length(done.payload) + coalesce(length(done.result), 0))::bigint AS size
    FROM queuekit.done
    WHERE done.queue = $1::int AND done.state = ended.state::smallint
    ORDER BY done.finished_at, done.seq
    LIMIT $2::int
) AS job
ORDER BY job.finished_at, job.seq
LIMIT $2::int
