-- The first events of the log, and the place of the last.
-- Parameters: $1 most.
-- Result: place, time and place of the last one, in order.
-- Index: events_pkey.
-- Locks: nothing.
SELECT
    events.seq, events.emitted_at,
    (SELECT max(latest.seq) FROM queuekit.events AS latest) AS last
FROM queuekit.events
ORDER BY events.seq
LIMIT $1::int
