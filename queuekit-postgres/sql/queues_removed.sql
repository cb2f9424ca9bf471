-- Removed queues that seem to have no jobs, and in which no transaction can store one any more.
-- Parameters: none.
-- Result: their ids. A queue that is seen here for the first time is stamped anew, and returned by
-- a later call.
-- Index: none: the table is short. deltas_queue, counts_pkey.
-- Locks: the queues' rows; passes over those held by a transaction with an old snapshot.
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
