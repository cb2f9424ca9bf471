-- Queues and their settings, by number, beyond one.
-- Parameters: $1 number; $2 most.
-- Result: a row per queue, by number: as queues.sql.
-- Index: queues_pkey.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.paused, queues.max_pending, queues.per_key,
    queues.skips_waiting, queues.holds_dead, queues.is_fair, queues.dedup_window_ms,
    queues.done_age_ms, queues.done_jobs, queues.done_bytes, queues.dead_age_ms,
    queues.dead_jobs, queues.dead_bytes, queues.removed_by IS NOT NULL AS removed
FROM queuekit.queues
WHERE queues.id > $1::int
ORDER BY queues.id
LIMIT $2::int
