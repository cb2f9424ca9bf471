-- The queue after another, by number.
-- Parameters: $1 queue.
-- Result: one number, or none.
-- Index: queues_pkey.
-- Locks: nothing.
SELECT queues.id
FROM queuekit.queues
WHERE queues.id > $1::int
ORDER BY queues.id
LIMIT 1
