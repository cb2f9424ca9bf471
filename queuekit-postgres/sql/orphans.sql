-- Forgets removed queues that no transaction can store jobs in any more, and that have none.
-- Parameters: none.
-- Result: a row per queue that was forgotten.
-- Index: queues_pkey, deltas_queue, counts_pkey, agenda_order.
-- Locks: the queues' rows, and those of their counters and keys.
WITH seen AS (
    UPDATE queuekit.queues
    SET removed_by = pg_current_xact_id(), removal_seen = true
    WHERE
        queues.removed_by < pg_snapshot_xmin(pg_current_snapshot())
        AND NOT queues.removal_seen
),
forgotten AS (
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
                AND (
                    counts.pending, counts.running, counts.completed, counts.dead,
                    counts.cancelled
                ) <> (0, 0, 0, 0, 0)
        )
    RETURNING queues.id
),
counted AS (
    DELETE FROM queuekit.counts
    WHERE counts.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
),
visited AS (
    DELETE FROM queuekit.agenda
    WHERE agenda.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
)
SELECT 1 AS forgotten
FROM forgotten
