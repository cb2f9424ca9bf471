-- Forgets removed queues whose rows the caller has locked, unless a job was stored in one before
-- the lock.
-- Parameters: $1 ids.
-- Result: none.
-- Index: queues_pkey, deltas_queue, counts_pkey, error_groups_pkey, error_deltas_queue, agenda_order.
-- Locks: the queues' rows, and those of their counters, error groups and keys.
WITH forgotten AS (
    DELETE FROM queuekit.queues
    WHERE
        queues.id = ANY ($1::int[])
        AND NOT EXISTS (SELECT FROM queuekit.deltas WHERE deltas.queue = queues.id)
    RETURNING queues.id
),
counted AS (
    DELETE FROM queuekit.counts
    WHERE counts.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
),
grouped AS (
    DELETE FROM queuekit.error_groups
    WHERE error_groups.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
),
ungrouped AS (
    DELETE FROM queuekit.error_deltas
    WHERE error_deltas.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
)
DELETE FROM queuekit.agenda
WHERE agenda.queue = ANY (ARRAY(SELECT forgotten.id FROM forgotten))
