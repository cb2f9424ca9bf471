-- Removed queues that no transaction can store jobs in any more, and that seem to have none.
-- Parameters: none.
-- Result: their ids. Those that are seen for the first time are stamped anew, and told later.
-- Index: none: the table is short. deltas_queue, counts_pkey.
-- Locks: the queues' rows; passes over those that a transaction holds which looks at the past.
WITH seen AS (
    UPDATE queuekit.queues
    SET removed_by = pg_current_xact_id(), removal_seen = true
    WHERE
        queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
        AND NOT queues.removal_seen
)
SELECT queues.id
FROM queuekit.queues
WHERE
    queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
    AND queues.removal_seen
    AND NOT EXISTS (SELECT FROM queuekit.deltas WHERE deltas.queue = queues.id)
    AND NOT EXISTS (
        SELECT
        FROM queuekit.counts
        WHERE
            counts.queue = queues.id
            AND (
                counts.pending, counts.running, counts.completed, counts.dead, counts.cancelled
            ) <> (0, 0, 0, 0, 0)
    )
FOR UPDATE SKIP LOCKED
