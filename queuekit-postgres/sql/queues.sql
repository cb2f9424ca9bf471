-- All queues and their settings.
-- Parameters: none.
-- Result: a row per queue, by name.
-- Index: queues_name_key.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.settings::text AS settings,
    queues.removed_by IS NOT NULL AS removed, (SELECT queuekit.now_ms()) AS now
FROM queuekit.queues
ORDER BY queues.name
