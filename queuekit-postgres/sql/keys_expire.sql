-- Removes idempotency keys whose time is over, so that they can be taken again.
-- Parameters: $1 queues by name, $2 keys, a row each.
-- Result: none.
-- Index: idempotency_pkey.
-- Locks: the rows it removes, in the order of their keys; those who take the same keys wait.
DELETE FROM queuekit.idempotency
-- One look-up per key: with a join the planner may compare every key with every row. The rows are
-- locked first, so a row that has changed since the statement began is left alone.
WHERE idempotency.ctid = ANY (ARRAY(
    SELECT held.spot
    FROM (
        SELECT input.queue, input.key
        FROM unnest($1::text[], $2::text[]) AS input (queue, key)
        ORDER BY input.queue COLLATE "C", input.key COLLATE "C"
    ) AS input
    CROSS JOIN LATERAL (
        SELECT idempotency.ctid AS spot
        FROM queuekit.idempotency
        WHERE
            idempotency.queue = input.queue AND idempotency.key = input.key
            -- By key, not by time: there may be many whose time is over.
            AND coalesce(idempotency.free_at, 9223372036854775807) <= queuekit.now_ms()
        FOR UPDATE
    ) AS held
))
