-- Queues and their settings, by number, beyond one.
-- Parameters: $1 number; $2 most.
-- Result: a row per queue, by number: as queues.sql.
-- Index: queues_pkey.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.settings::text AS settings,
    queues.removed_by IS NOT NULL AS removed, (SELECT queuekit.now_ms()) AS now
FROM queuekit.queues
WHERE queues.id > $1::int
ORDER BY queues.id
LIMIT $2::int
