-- Queues and their settings, after a name.
-- Parameters: $1 name; $2 whether to include the queue of this name; $3 most.
-- Result: a row per queue, by name: as queues.sql.
-- Index: queues_name_key.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.settings::text AS settings,
    queues.removed_by IS NOT NULL AS removed, (SELECT queuekit.now_ms()) AS now
FROM queuekit.queues
WHERE queues.name >= $1::text AND ($2::boolean OR queues.name > $1::text)
ORDER BY queues.name
LIMIT $3::int
