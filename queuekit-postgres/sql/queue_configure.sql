-- Changes the settings of a queue.
-- Parameters: $1 queue; $2 paused; $3 max_pending; $4 per_key; $5 skips_waiting; $6 holds_dead; $7
-- is_fair; $8 dedup_window in ms; $9..$14 retention.
-- Result: none.
-- Index: queues_pkey.
-- Locks: the queue's row.
UPDATE queuekit.queues
SET
    paused = $2::boolean, max_pending = $3::bigint, per_key = $4::int,
    skips_waiting = $5::boolean, holds_dead = $6::boolean, is_fair = $7::boolean,
    keyed = queues.keyed OR $7::boolean, dedup_window_ms = $8::bigint,
    done_age_ms = $9::bigint, done_jobs = $10::bigint, done_bytes = $11::bigint,
    dead_age_ms = $12::bigint, dead_jobs = $13::bigint, dead_bytes = $14::bigint
WHERE queues.id = $1::int
