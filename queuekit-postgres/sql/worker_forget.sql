-- Forgets a worker that is listed.
-- Parameters: $1 id.
-- Result: a row if it was listed.
-- Index: workers_pkey.
-- Locks: its row.
DELETE FROM queuekit.workers
USING (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
WHERE
    workers.id = $1::text
    AND clock.now - workers.at < 3 * workers.ttl_ms + workers.quiet_ms
RETURNING workers.id
