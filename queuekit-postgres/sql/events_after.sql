-- The next events of the log, without their large columns.
-- Parameters: $1 the place they come after; $2 most.
-- Result: place, kind, time, in order.
-- Index: events_pkey.
-- Locks: nothing.
SELECT events.seq, events.kind, events.emitted_at
FROM queuekit.events
WHERE events.seq > $1::bigint
ORDER BY events.seq
LIMIT $2::int
