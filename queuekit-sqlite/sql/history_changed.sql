-- Purpose: finds the queues whose totals have changed since they were recorded.
-- Result: their totals. A queue that was never recorded had none.
-- Index: the primary key of what was recorded.
-- Locks: none.
SELECT
    queues.id, queues.name,
    pending + running + queues.completed + queues.dead + queues.cancelled + total_removed
        AS enqueued,
    total_completed AS completed,
    total_failed AS failed, total_dead AS dead, total_cancelled AS cancelled
FROM queuekit_queues AS queues
LEFT JOIN queuekit_history_recorded AS recorded ON recorded.queue = queues.id
WHERE (
    pending + running + queues.completed + queues.dead + queues.cancelled + total_removed,
    total_completed,
    total_failed, total_dead, total_cancelled
) IS NOT (
    coalesce(recorded.enqueued, 0), coalesce(recorded.completed, 0),
    coalesce(recorded.failed, 0), coalesce(recorded.dead, 0), coalesce(recorded.cancelled, 0)
);
