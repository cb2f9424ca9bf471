-- Removed queues that no transaction can store jobs in any more, and that have none.
-- Parameters: none.
-- Result: a row per queue that was forgotten.
-- Index: queues_pkey.
-- Locks: the queues' rows.
DELETE FROM queuekit.queues
WHERE
    queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
    AND coalesce((
        SELECT sum(deltas.pending + deltas.running)
        FROM queuekit.deltas
        WHERE deltas.queue = queues.id
    ), 0) = 0
    AND NOT EXISTS (
        SELECT
        FROM queuekit.counts
        WHERE counts.queue = queues.id AND counts.pending + counts.running > 0
    )
RETURNING 1 AS forgotten
