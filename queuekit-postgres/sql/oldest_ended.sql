-- When the oldest of queues' ended jobs ended.
-- Parameters: $1 queues.
-- Result: a row per queue: queue; when the first of its completed and cancelled jobs ended; of its
-- dead ones.
-- Index: ended_order, dead_order.
-- Locks: nothing.
SELECT
    asked.queue,
    least(
        (
            SELECT ended.finished_at
            FROM queuekit.ended
            WHERE ended.queue = asked.queue AND ended.state = 2::smallint
            ORDER BY ended.finished_at
            LIMIT 1
        ),
        (
            SELECT ended.finished_at
            FROM queuekit.ended
            WHERE ended.queue = asked.queue AND ended.state = 4::smallint
            ORDER BY ended.finished_at
            LIMIT 1
        )
    ) AS done_at,
    (
        SELECT dead.finished_at
        FROM queuekit.dead
        WHERE dead.queue = asked.queue
        ORDER BY dead.finished_at
        LIMIT 1
    ) AS dead_at
FROM unnest($1::int[]) AS asked (queue)
