-- Events by their places.
-- Parameters: $1 places.
-- Result: place, id, kind, time, partition key, idempotency key, metadata, data, in order.
-- Index: events_pkey.
-- Locks: nothing.
SELECT
    events.seq, events.id, events.kind, events.emitted_at, events.partition_key,
    events.idempotency_key, events.metadata, events.data
FROM queuekit.events
WHERE events.seq = ANY ($1::bigint[])
ORDER BY events.seq
