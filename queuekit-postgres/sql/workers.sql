-- The workers whose last beat is less than three times their ttl ago.
-- Parameters: none.
-- Result: a row per worker, by id, with the ms since its last beat.
-- Index: workers_pkey.
-- Locks: nothing.
SELECT
    workers.id, workers.name, workers.queues, workers.kinds, workers.slots, workers.running,
    workers.ttl_ms, clock.now - workers.at AS age_ms
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN queuekit.workers
WHERE clock.now - workers.at < 3 * workers.ttl_ms
ORDER BY workers.id
