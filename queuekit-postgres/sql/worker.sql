-- The worker of an id, if it is listed.
-- Parameters: $1 id.
-- Result: its row, with the ms since its last beat.
-- Index: workers_pkey.
-- Locks: nothing.
SELECT
    workers.id, workers.name, workers.queues, workers.kinds, workers.slots, workers.running,
    workers.ttl_ms, workers.quiet_ms, workers.about, workers.order_seq, workers.order_mode,
    workers.order_slots, clock.now - workers.at AS age_ms
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.workers
WHERE
    workers.id = $1::text
    AND clock.now - workers.at < 3 * workers.ttl_ms + workers.quiet_ms
