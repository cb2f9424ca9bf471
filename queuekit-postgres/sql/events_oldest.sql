-- The first events of the log, and the highest number. If a clock went back, the event at the last
-- place does not have the highest number.
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
