-- Some queues and their settings.
-- Parameters: $1 ids.
-- Result: a row per queue that exists.
-- Index: queues_pkey.
-- Locks: nothing.
SELECT
    queues.id, queues.name, queues.keyed, queues.paused, queues.max_pending, queues.per_key,
    queues.skips_waiting, queues.holds_dead, queues.is_fair, queues.dedup_window_ms,
    queues.done_age_ms, queues.done_jobs, queues.done_bytes, queues.dead_age_ms,
    queues.dead_jobs, queues.dead_bytes, queues.removed_by IS NOT NULL AS removed
FROM queuekit.queues
WHERE queues.id = ANY ($1::int[])
