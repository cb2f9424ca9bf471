-- Keeps events in the log until the transaction ends.
-- Parameters: $1 ids.
-- Result: id and place of each that is in the log.
-- Index: event_ids_pkey, events_pkey.
-- Locks: the events, shared: those who remove them wait.
SELECT events.id, events.seq
FROM queuekit.event_ids AS ids
JOIN queuekit.events ON events.seq = ids.seq
WHERE ids.id = ANY ($1::uuid[])
ORDER BY events.seq
FOR KEY SHARE OF events
