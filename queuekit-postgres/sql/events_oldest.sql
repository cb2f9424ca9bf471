-- The first events of the log, and the number of the last: where a clock went back, that is not the
-- one that stands last.
-- Parameters: $1 most.
-- Result: place, time and the last number, in order.
-- Index: events_pkey.
-- Locks: nothing.
SELECT
    events.seq, events.emitted_at,
    coalesce(pg_sequence_last_value('queuekit.event_numbers'::regclass), 0) AS last
FROM queuekit.events
ORDER BY events.seq
LIMIT $1::int
