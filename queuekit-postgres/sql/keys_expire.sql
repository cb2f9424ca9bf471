-- Removes idempotency keys whose time is over, so that they can be taken again.
-- Parameters: $1 queues by name, $2 keys, a row each.
-- Result: none.
-- Index: idempotency_pkey.
-- Locks: the rows it removes; those who take the same keys wait.
DELETE FROM queuekit.idempotency
WHERE (idempotency.queue, idempotency.key) IN (
    SELECT held.queue, held.key
    FROM unnest($1::text[], $2::text[]) AS input (queue, key)
    CROSS JOIN LATERAL (
        SELECT idempotency.queue, idempotency.key
        FROM queuekit.idempotency
        WHERE
            idempotency.queue = input.queue AND idempotency.key = input.key
            AND idempotency.free_at <= queuekit.now_ms()
    ) AS held
    ORDER BY held.queue, held.key
)
