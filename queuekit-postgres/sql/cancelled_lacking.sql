-- Cancelled deliveries whose events have gone, with their payloads.
-- Parameters: $1 ids.
-- Result: the id of each.
-- Index: done_id, events_pkey.
-- Locks: nothing.
SELECT done.id
FROM queuekit.done
WHERE
    done.id = ANY ($1::uuid[])
    AND done.event IS NOT NULL
    AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = done.event OFFSET 0)
