-- The dead jobs of a queue that died first.
-- Parameters: $1 queue; $2 most.
-- Result: id, finished_at, bytes, in order.
-- Index: dead_order.
-- Locks: nothing.
SELECT dead.id, dead.finished_at, length(dead.payload)::bigint AS size
FROM queuekit.dead
WHERE dead.queue = $1::int
ORDER BY dead.finished_at, dead.seq
LIMIT $2::int
