-- Which jobs hold idempotency keys now.
-- Parameters: $1 queues by name, $2 keys, a row each.
-- Result: queue, key, job of those that are held.
-- Index: idempotency_pkey.
-- Locks: nothing.
SELECT held.queue, held.key, held.job
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN unnest($1::text[], $2::text[]) AS input (queue, key)
JOIN queuekit.idempotency AS held ON held.queue = input.queue AND held.key = input.key
WHERE held.free_at IS NULL OR held.free_at > clock.now
