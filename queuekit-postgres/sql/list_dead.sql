-- Dead jobs of a queue that ended at a time or later, those that died last first, after a place.
-- Parameters: $1 queue; $2 time, $3 sequence of the place; $4 most; $5 the time.
-- Result: id, time, sequence, kind, in order.
-- Index: dead_order.
-- Locks: nothing.
SELECT dead.id, dead.finished_at AS time, dead.seq, dead.kind
FROM queuekit.dead
WHERE
    dead.queue = $1::int AND (dead.finished_at, dead.seq) < ($2::bigint, $3::bigint)
    AND dead.finished_at >= $5::bigint
ORDER BY dead.finished_at DESC, dead.seq DESC
LIMIT $4::int
