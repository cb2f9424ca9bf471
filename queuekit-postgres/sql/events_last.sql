-- The place of the last event of the log.
-- Parameters: none.
-- Result: place.
-- Index: events_pkey.
-- Locks: nothing.
SELECT events.seq
FROM queuekit.events
ORDER BY events.seq DESC
LIMIT 1
