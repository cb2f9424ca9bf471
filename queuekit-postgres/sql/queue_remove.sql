-- Removes a queue whose jobs are gone.
-- Parameters: $1 queue.
-- Result: none.
-- Index: queues_pkey, counts_pkey, deltas_queue, agenda_order.
-- Locks: the queue's row.
WITH counted AS (
    DELETE FROM queuekit.counts
    WHERE counts.queue = $1::int
),
changed AS (
    DELETE FROM queuekit.deltas
    WHERE deltas.queue = $1::int
),
visited AS (
    DELETE FROM queuekit.agenda
    WHERE agenda.queue = $1::int
)
UPDATE queuekit.queues
SET
    removed_by = pg_current_xact_id(), paused = false, max_pending = NULL, per_key = 1,
    skips_waiting = false, holds_dead = false, is_fair = false, dedup_window_ms = DEFAULT,
    done_age_ms = DEFAULT, done_jobs = DEFAULT, done_bytes = NULL, dead_age_ms = NULL,
    dead_jobs = NULL, dead_bytes = NULL
WHERE queues.id = $1::int
