-- Purpose: reads one queue.
-- Parameters: 1 its id, or NULL to go by 2 its name.
-- Result: its row, or none.
-- Index: the primary key; the unique index on name.
SELECT
    id, name, settings, moving,
    pending, running, completed, dead, cancelled,
    completed_size, dead_size, cancelled_size,
    last_seq, last_end_seq, last_turn, corrupt, last_ended, total_completed, total_dead,
    total_cancelled, total_failed, total_removed
FROM queuekit_queues
WHERE id = coalesce(?1, (SELECT id FROM queuekit_queues WHERE name = ?2));
