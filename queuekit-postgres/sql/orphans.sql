-- Forgets removed queues that no transaction can store jobs in any more, and that have none.
-- Parameters: none.
-- Result: a row per queue that was forgotten.
-- Index: queues_pkey, deltas_queue, counts_pkey.
-- Locks: the queues' rows.
WITH seen AS (
    UPDATE queuekit.queues
    SET removed_by = pg_current_xact_id(), removal_seen = true
    WHERE
        queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
        AND NOT queues.removal_seen
)
DELETE FROM queuekit.queues
WHERE
    queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
    AND queues.removal_seen
    AND NOT EXISTS (SELECT FROM queuekit.deltas WHERE deltas.queue = queues.id)
    AND NOT EXISTS (
        SELECT
        FROM queuekit.counts
        WHERE
            counts.queue = queues.id
            AND (counts.pending, counts.running, counts.completed, counts.dead, counts.cancelled)
            <> (0, 0, 0, 0, 0)
    )
RETURNING 1 AS forgotten
