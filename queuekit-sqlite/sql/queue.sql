-- Purpose: reads one queue.
-- Parameters: 1 its id, or NULL to go by 2 its name.
-- Result: its row, or none.
-- Index: the primary key; the unique index on name.
SELECT
    id, name,
    paused, max_pending, per_key, skips_waiting, holds_dead, is_fair, dedup_window_ms,
    done_age_ms, done_jobs, done_bytes, dead_age_ms, dead_jobs, dead_bytes,
    pending, running, completed, dead, cancelled,
    completed_size, dead_size, cancelled_size,
    last_seq, last_end_seq, last_turn, corrupt, last_ended, total_dead,
    total_cancelled
FROM queuekit_queues
WHERE id = coalesce(?1, (SELECT id FROM queuekit_queues WHERE name = ?2));
