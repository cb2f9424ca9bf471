-- Records a beat of a worker that is listed.
-- Parameters: $1 id; $2 name; $3 queues; $4 kinds, separated by spaces; $5 slots; $6 running; $7
-- ttl in ms; $8 how much longer it is listed, in ms; $9 about it, as JSON; $10 the last order that
-- it has obeyed.
-- Result: if it is listed, a row: the number of its last order, and what it has not obeyed.
-- Index: workers_pkey.
-- Locks: its row.
UPDATE queuekit.workers
SET
    name = $2::text, queues = $3::text, kinds = $4::text, slots = $5::int, running = $6::int,
    ttl_ms = $7::bigint, quiet_ms = $8::bigint, about = $9::text, at = clock.now,
    order_mode = CASE WHEN workers.order_seq > $10::bigint THEN workers.order_mode END,
    order_slots = CASE WHEN workers.order_seq > $10::bigint THEN workers.order_slots END
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
WHERE
    workers.id = $1::text
    AND clock.now - workers.at < 3 * workers.ttl_ms + workers.quiet_ms
RETURNING workers.order_seq, workers.order_mode, workers.order_slots
