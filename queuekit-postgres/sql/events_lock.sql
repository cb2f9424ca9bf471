-- Locks events that will be removed, so that nobody makes deliveries of them any more.
-- Parameters: $1 places.
-- Result: the places of those that are in the log.
-- Index: events_pkey.
-- Locks: the events; passes over those that others hold.
SELECT events.seq
FROM queuekit.events
WHERE events.seq = ANY ($1::bigint[])
ORDER BY events.seq
FOR UPDATE SKIP LOCKED
