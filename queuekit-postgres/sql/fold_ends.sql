-- The rings of the last ended jobs.
-- Parameters: $1 queues.
-- Result: queue, ring.
-- Index: counts_pkey.
-- Locks: nothing. The caller holds the lock of folding.
SELECT counts.queue, counts.last_ended
FROM queuekit.counts
WHERE counts.queue = ANY ($1::int[])
