-- The worker of an id, if its last beat is less than three times its ttl ago.
-- Parameters: $1 id.
-- Result: its row, with the ms since its last beat.
-- Index: workers_pkey.
-- Locks: nothing.
SELECT
    workers.id, workers.name, workers.queues, workers.kinds, workers.slots, workers.running,
    workers.ttl_ms, clock.now - workers.at AS age_ms
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.workers
WHERE workers.id = $1::text AND clock.now - workers.at < 3 * workers.ttl_ms
