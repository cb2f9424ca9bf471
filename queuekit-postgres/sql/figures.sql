-- The counters of queues: the folded ones, plus the deltas that are not folded yet.
-- Parameters: $1 queues.
-- Result: a row per queue that has counters: queue; pending, running, completed, dead, cancelled;
-- bytes of completed, dead, cancelled; corrupt; the ring of the last ended; how many ended since,
-- and how many of them died, in order; how many have ended, died, been cancelled, been removed
-- in all, and how many attempts have failed.
-- Index: queues_pkey, counts_pkey, deltas_queue, error_deltas_queue.
-- Locks: nothing.
SELECT
    queues.id,
    coalesce(counts.pending, 0) + coalesce(delta.pending, 0) AS pending,
    coalesce(counts.running, 0) + coalesce(delta.running, 0) AS running,
    coalesce(counts.completed, 0) + coalesce(delta.completed, 0) AS completed,
    coalesce(counts.dead, 0) + coalesce(delta.dead, 0) AS dead,
    coalesce(counts.cancelled, 0) + coalesce(delta.cancelled, 0) AS cancelled,
    (coalesce(counts.completed_size, 0) + coalesce(delta.completed_size, 0))::bigint
        AS completed_size,
    (coalesce(counts.dead_size, 0) + coalesce(delta.dead_size, 0))::bigint AS dead_size,
    (coalesce(counts.cancelled_size, 0) + coalesce(delta.cancelled_size, 0))::bigint
        AS cancelled_size,
    coalesce(counts.corrupt, 0) + coalesce(delta.corrupt, 0) AS corrupt,
    coalesce(counts.last_ended, '') AS last_ended,
    coalesce(delta.ended, '{}') AS ended,
    coalesce(delta.died, '{}') AS died,
    coalesce(counts.total_ended, 0) + coalesce(delta.total_ended, 0) AS total_ended,
    coalesce(counts.total_dead, 0) + coalesce(delta.total_dead, 0) AS total_dead,
    coalesce(counts.total_cancelled, 0) + coalesce(delta.total_cancelled, 0) AS total_cancelled,
    coalesce(counts.total_removed, 0) + coalesce(delta.total_removed, 0) AS total_removed,
    coalesce(counts.total_failed, 0) + coalesce(failure.total_failed, 0) AS total_failed
FROM queuekit.queues
LEFT JOIN queuekit.counts ON counts.queue = queues.id
LEFT JOIN LATERAL (
    SELECT
        sum(deltas.pending) AS pending, sum(deltas.running) AS running,
        sum(deltas.completed) AS completed, sum(deltas.dead) AS dead,
        sum(deltas.cancelled) AS cancelled, sum(deltas.completed_size) AS completed_size,
        sum(deltas.dead_size) AS dead_size, sum(deltas.cancelled_size) AS cancelled_size,
        sum(deltas.corrupt) AS corrupt,
        sum(deltas.ended) AS total_ended, sum(deltas.died) AS total_dead,
        -- Not where cancelled jobs leave their state.
        sum(deltas.cancelled) FILTER (WHERE deltas.ended > 0) AS total_cancelled,
        -- A step adds jobs, moves them, or removes them.
        sum(greatest(
            0, - deltas.pending - deltas.running - deltas.completed - deltas.dead - deltas.cancelled
        )) AS total_removed,
        array_agg(deltas.ended ORDER BY deltas.id) FILTER (WHERE deltas.ended > 0) AS ended,
        array_agg(deltas.died ORDER BY deltas.id) FILTER (WHERE deltas.ended > 0) AS died
    FROM queuekit.deltas
    WHERE deltas.queue = queues.id
) AS delta ON true
LEFT JOIN LATERAL (
    SELECT sum(error_deltas.failures) AS total_failed
    FROM queuekit.error_deltas
    WHERE error_deltas.queue = queues.id
) AS failure ON true
WHERE queues.id = ANY ($1::int[])
