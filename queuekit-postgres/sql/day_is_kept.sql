-- Whether a queue still keeps jobs of a partition of history.
-- Parameters: $1 the partition's first ms, $2 the first ms after it.
-- Result: one boolean.
-- Index: done_order.
-- Locks: nothing.
SELECT EXISTS (
    SELECT
    FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN queuekit.queues
    CROSS JOIN (VALUES (2), (4)) AS ended (state)
    CROSS JOIN LATERAL (
        SELECT
        FROM queuekit.done
        WHERE
            done.queue = queues.id AND done.state = ended.state::smallint
            AND done.finished_at >= $1::bigint AND done.finished_at < $2::bigint
        LIMIT 1
    ) AS job
    WHERE queues.done_age_ms IS NULL OR $2::bigint + queues.done_age_ms > clock.now
) AS is_kept
