-- The place of an event in the log.
-- Parameters: $1 id.
-- Result: its place; no row if the event is not in the log.
-- Index: event_ids_pkey, events_pkey.
-- Locks: nothing.
SELECT events.seq
FROM queuekit.event_ids AS ids
JOIN queuekit.events ON events.seq = ids.seq
WHERE ids.id = $1::uuid
