-- Finds the events that already have these ids or idempotency keys.
-- Parameters: a row per event: $1 id; $2 kind; $3 idempotency key, or NULL; $4 bytes of its data.
-- Result: first a row per event whose id is taken: its place in the call from 1, the id, and the
-- kind and data of the stored event. The data is NULL if it has another length, so that no call
-- reads more bytes than it has sent. Then a row per event whose key is taken: its place in the
-- call, the id of the stored event, NULL, NULL.
-- Index: event_ids_pkey, event_ids_key, events_pkey.
-- Locks: nothing.
SELECT input.place, held.id, held.kind, held.data
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int[])
    WITH ORDINALITY AS input (id, kind, key, bytes, place)
CROSS JOIN LATERAL (
    SELECT
        0 AS turn, ids.id, events.kind,
        CASE WHEN octet_length(events.data) = input.bytes THEN events.data END AS data
    FROM queuekit.event_ids AS ids
    JOIN queuekit.events ON events.seq = ids.seq
    WHERE ids.id = input.id
    UNION ALL
    SELECT 1, ids.id, NULL, NULL
    FROM queuekit.event_ids AS ids
    JOIN queuekit.events ON events.seq = ids.seq
    WHERE ids.kind = input.kind AND ids.idempotency_key = input.key
    OFFSET 0
) AS held
ORDER BY input.place, held.turn
