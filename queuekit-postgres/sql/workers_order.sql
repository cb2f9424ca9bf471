-- Gives an order to those workers that are listed.
-- Parameters: $1 ids; $2 what to do, NULL if the order is about slots; $3 slots, likewise.
-- Result: the ids of those that were listed.
-- Index: workers_pkey.
-- Locks: their rows, in the order of the ids.
WITH listed AS (
    SELECT workers.id
    FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN queuekit.workers
    WHERE
        workers.id = ANY ($1::text[])
        AND clock.now - workers.at < 3 * workers.ttl_ms + workers.quiet_ms
    ORDER BY workers.id
    FOR UPDATE OF workers
)
UPDATE queuekit.workers
SET
    order_seq = workers.order_seq + 1,
    order_mode = coalesce($2::text, workers.order_mode),
    order_slots = coalesce($3::int, workers.order_slots)
FROM listed
WHERE workers.id = listed.id
RETURNING workers.id
