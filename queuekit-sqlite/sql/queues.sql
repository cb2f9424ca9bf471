-- Purpose: reads all queues, by name.
-- Result: a row per queue.
-- Index: the unique index on name.
SELECT
    id, name, settings,
    pending, running, completed, dead, cancelled,
    completed_size, dead_size, cancelled_size,
    last_seq, last_end_seq, last_turn, corrupt, last_ended, total_dead,
    total_cancelled
FROM queuekit_queues
ORDER BY name;
