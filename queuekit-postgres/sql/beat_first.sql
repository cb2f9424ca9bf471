-- Lists a new worker, if there is room for it, and forgets workers that are gone. The caller holds
-- the lock of workers.
-- Parameters: as beat.sql, but $10 from which number its orders are counted on; $11 most workers.
-- Result: a row if there was room.
-- Index: workers_pkey; it looks at all workers, once for each that is new.
-- Locks: its row, and those it forgets, passing over what others hold.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
gone AS (
    DELETE FROM queuekit.workers
    WHERE workers.id IN (
        SELECT old.id
        FROM queuekit.workers AS old
        CROSS JOIN clock
        WHERE clock.now - old.at >= 3 * old.ttl_ms + old.quiet_ms AND old.id <> $1::text
        FOR UPDATE OF old SKIP LOCKED
    )
)
INSERT INTO queuekit.workers (
    id, name, queues, kinds, slots, running, ttl_ms, quiet_ms, about, order_seq, at
)
SELECT
    $1::text, $2::text, $3::text, $4::text, $5::int, $6::int, $7::bigint, $8::bigint, $9::text,
    $10::bigint, clock.now
FROM clock
WHERE (
    SELECT count(*)
    FROM queuekit.workers AS other
    WHERE
        other.id <> $1::text
        AND clock.now - other.at < 3 * other.ttl_ms + other.quiet_ms
) < $11::int
ON CONFLICT (id) DO UPDATE
SET
    name = excluded.name, queues = excluded.queues, kinds = excluded.kinds,
    slots = excluded.slots, running = excluded.running, ttl_ms = excluded.ttl_ms,
    quiet_ms = excluded.quiet_ms, about = excluded.about, at = excluded.at,
    order_seq = excluded.order_seq, order_mode = NULL, order_slots = NULL
RETURNING workers.order_seq, workers.order_mode, workers.order_slots
