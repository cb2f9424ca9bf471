-- Forgets ids and idempotency keys whose events are gone.
-- Parameters: a row per event: $1 id; $2 kind; $3 idempotency key, or NULL.
-- Result: none.
-- Index: event_ids_pkey, event_ids_key, events_pkey.
-- Locks: the rows it removes.
DELETE FROM queuekit.event_ids AS ids
WHERE
    ids.id = ANY (ARRAY(
        SELECT found.id
        FROM unnest($1::uuid[], $2::text[], $3::text[]) AS input (id, kind, key)
        CROSS JOIN LATERAL (
            SELECT same.id FROM queuekit.event_ids AS same WHERE same.id = input.id
            UNION ALL
            SELECT same.id
            FROM queuekit.event_ids AS same
            WHERE same.kind = input.kind AND same.idempotency_key = input.key
            OFFSET 0
        ) AS found
    ))
    AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = ids.seq)
