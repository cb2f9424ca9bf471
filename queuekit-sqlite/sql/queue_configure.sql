-- Purpose: changes a queue's settings.
-- Parameters: 1 id, 2 to 14 settings in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_queues SET
    paused = ?2, max_pending = ?3, per_key = ?4, skips_waiting = ?5, holds_dead = ?6,
    is_fair = ?7, dedup_window_ms = ?8, done_age_ms = ?9, done_jobs = ?10, done_bytes = ?11,
    dead_age_ms = ?12, dead_jobs = ?13, dead_bytes = ?14
WHERE id = ?1;
