-- The data of events, for their deliveries.
-- Parameters: $1 places.
-- Result: place and data of each that is in the log.
-- Index: events_pkey.
-- Locks: nothing.
SELECT events.seq, events.data
FROM queuekit.events
WHERE events.seq = ANY ($1::bigint[])
