-- Records a beat of a worker that is listed.
-- Parameters: $1 id; $2 name; $3 queues; $4 kinds, separated by spaces; $5 slots; $6 running; $7
-- ttl in ms.
-- Result: a row if it is listed.
-- Index: workers_pkey.
-- Locks: its row.
UPDATE queuekit.workers
SET
    name = $2::text, queues = $3::text, kinds = $4::text, slots = $5::int, running = $6::int,
    ttl_ms = $7::bigint, at = clock.now
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
WHERE workers.id = $1::text AND clock.now - workers.at < 3 * workers.ttl_ms
RETURNING workers.id
