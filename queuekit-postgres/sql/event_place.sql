-- Where an event stands in the log.
-- Parameters: $1 id.
-- Result: its place; no row if it is not there.
-- Index: event_ids_pkey, events_pkey.
-- Locks: nothing.
SELECT events.seq
FROM queuekit.event_ids AS ids
JOIN queuekit.events ON events.seq = ids.seq
WHERE ids.id = $1::uuid
