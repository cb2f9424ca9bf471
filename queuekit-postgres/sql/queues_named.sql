-- Some queues and their settings.
-- Parameters: $1 names.
-- Result: a row per queue that exists.
-- Index: queues_name_key.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.settings::text AS settings,
    queues.removed_by IS NOT NULL AS removed, (SELECT queuekit.now_ms()) AS now
FROM queuekit.queues
WHERE queues.name = ANY ($1::text[])
