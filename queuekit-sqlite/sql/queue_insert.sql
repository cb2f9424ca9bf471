-- Purpose: a queue comes to exist.
-- Parameters: 1 name, 2 to 14 settings in the order of the columns, 15 the empty ring of ends.
-- Result: its id.
-- Locks: runs inside a step.
INSERT INTO queuekit_queues (
    name,
    paused, max_pending, per_key, skips_waiting, holds_dead, is_fair, dedup_window_ms,
    done_age_ms, done_jobs, done_bytes, dead_age_ms, dead_jobs, dead_bytes,
    last_ended
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
RETURNING id;
