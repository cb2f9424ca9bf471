-- Some queues and their settings.
-- Parameters: $1 ids.
-- Result: a row per queue that exists.
-- Index: queues_pkey.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.settings::text AS settings,
    queues.removed_by IS NOT NULL AS removed, (SELECT queuekit.now_ms()) AS now
FROM queuekit.queues
WHERE queues.id = ANY ($1::int[])
