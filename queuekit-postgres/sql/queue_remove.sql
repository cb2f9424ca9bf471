-- Removes a queue: resets its settings and forgets its history. Deltas that this statement does not
-- see belong to jobs that are being stored at this moment; they stay.
-- Parameters: $1 queue.
-- Result: none.
-- Index: queues_pkey, counts_pkey, deltas_queue, error_groups_pkey, error_deltas_queue.
-- Locks: the queue's row, its counters and error groups. The caller holds the lock of folding.
WITH taken AS (
    DELETE FROM queuekit.deltas
    WHERE deltas.queue = $1::int
    RETURNING deltas.*
),
counted AS (
    INSERT INTO queuekit.counts AS old (
        queue, pending, running, completed, dead, cancelled, completed_size, dead_size,
        cancelled_size
    )
    SELECT
        $1::int, coalesce(sum(taken.pending), 0), coalesce(sum(taken.running), 0),
        coalesce(sum(taken.completed), 0), coalesce(sum(taken.dead), 0),
        coalesce(sum(taken.cancelled), 0), coalesce(sum(taken.completed_size), 0),
        coalesce(sum(taken.dead_size), 0), coalesce(sum(taken.cancelled_size), 0)
    FROM taken
    ON CONFLICT (queue) DO UPDATE
    SET
        pending = old.pending + excluded.pending,
        running = old.running + excluded.running,
        completed = old.completed + excluded.completed,
        dead = old.dead + excluded.dead,
        cancelled = old.cancelled + excluded.cancelled,
        completed_size = old.completed_size + excluded.completed_size,
        dead_size = old.dead_size + excluded.dead_size,
        cancelled_size = old.cancelled_size + excluded.cancelled_size,
        total_ended = 0,
        total_dead = 0,
        total_cancelled = 0,
        total_failed = 0,
        total_removed = 0,
        recorded = DEFAULT,
        corrupt = 0,
        turn = 0,
        last_ended = ''
),
grouped AS (
    DELETE FROM queuekit.error_groups
    WHERE error_groups.queue = $1::int
),
ungrouped AS (
    DELETE FROM queuekit.error_deltas
    WHERE error_deltas.queue = $1::int
)
UPDATE queuekit.queues
SET removed_by = pg_current_xact_id(), settings = DEFAULT, paused_until = DEFAULT
WHERE queues.id = $1::int
