-- The next events of the log, without their large columns.
-- Parameters: $1 the place they come after; $2 most.
-- Result: place, kind, time, how many bytes it has, in order.
-- Index: events_pkey.
-- Locks: nothing.
SELECT
    events.seq, events.kind, events.emitted_at,
    octet_length(events.data) + coalesce(octet_length(events.metadata), 0) AS bytes
FROM queuekit.events
WHERE events.seq > $1::bigint
ORDER BY events.seq
LIMIT $2::int
