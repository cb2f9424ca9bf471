-- Removes events, with their ids and idempotency keys.
-- Parameters: $1 places.
-- Result: a row per event.
-- Index: event_ids_seq, events_pkey.
-- Locks: the rows it removes. The caller has locked the events, and copied what is needed of them.
WITH forgotten AS (
    DELETE FROM queuekit.event_ids AS ids
    WHERE ids.seq = ANY ($1::bigint[])
)
DELETE FROM queuekit.events
WHERE events.seq = ANY ($1::bigint[])
RETURNING events.seq
