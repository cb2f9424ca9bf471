-- Which jobs hold idempotency keys now.
-- Parameters: $1 queues by name, $2 keys, a row each.
-- Result: queue, key, job of those that are held.
-- Index: idempotency_pkey.
-- Locks: nothing.
SELECT held.queue, held.key, held.job
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN unnest($1::text[], $2::text[]) AS input (queue, key)
CROSS JOIN LATERAL (
    -- One look-up per key: with a join the planner may compare every key with every row.
    SELECT idempotency.queue, idempotency.key, idempotency.job, idempotency.free_at
    FROM queuekit.idempotency
    WHERE idempotency.queue = input.queue AND idempotency.key = input.key
    OFFSET 0
) AS held
WHERE held.free_at IS NULL OR held.free_at > clock.now
