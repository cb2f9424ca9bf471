-- Purpose: reads queues by name.
-- Parameters: 1 a name, 2 whether to include the queue of this name, 3 most.
-- Result: their rows, in the order of their names.
-- Index: the unique index on name.
SELECT
    id, name, settings, moving,
    pending, running, completed, dead, cancelled,
    completed_size, dead_size, cancelled_size,
    last_seq, last_end_seq, last_turn, corrupt, last_ended, total_completed, total_dead,
    total_cancelled, total_failed, total_removed
FROM queuekit_queues
WHERE name >= ?1 AND (?2 OR name > ?1)
ORDER BY name
LIMIT ?3;
