-- Records that a worker is there, and forgets those that are gone.
-- Parameters: $1 id; $2 name; $3 queues; $4 kinds, separated by spaces; $5 slots; $6 running; $7
-- ttl in ms.
-- Result: none.
-- Index: workers_pkey.
-- Locks: its row, and those it forgets, passing over what others hold.
WITH gone AS (
    DELETE FROM queuekit.workers
    WHERE workers.id IN (
        SELECT old.id
        FROM queuekit.workers AS old
        WHERE old.at + 3 * old.ttl_ms <= queuekit.now_ms() AND old.id <> $1::text
        FOR UPDATE SKIP LOCKED
    )
)
INSERT INTO queuekit.workers (id, name, queues, kinds, slots, running, ttl_ms, at)
SELECT
    $1::text, $2::text, $3::text, $4::text, $5::int, $6::int, $7::bigint, queuekit.now_ms()
ON CONFLICT (id) DO UPDATE
SET
    name = excluded.name, queues = excluded.queues, kinds = excluded.kinds,
    slots = excluded.slots, running = excluded.running, ttl_ms = excluded.ttl_ms,
    at = excluded.at
