-- Says that queues may hold jobs with partition keys from now on.
-- Parameters: $1 ids.
-- Result: none.
-- Index: queues_pkey.
-- Locks: the queues' rows, which only a change of settings waits for.
UPDATE queuekit.queues
SET keyed = true
WHERE queues.id IN (
    SELECT queues.id
    FROM queuekit.queues
    WHERE queues.id = ANY ($1::int[]) AND NOT queues.keyed
    ORDER BY queues.id
    FOR NO KEY UPDATE
)
