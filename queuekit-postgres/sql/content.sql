-- The queues, kinds and payloads stored under ids, to tell a repeated enqueue from another job.
-- Parameters: a row per job: $1 id; $2 bytes of its payload.
-- Result: a row per job whose id is taken: its place in the call from 1, and the number of the
-- queue, the kind and the payload of the stored job. The payload is NULL if it has another length,
-- so that no call reads more bytes than it has sent.
-- Index: jobs_pkey, dead_pkey, events_pkey.
-- Locks: nothing.
SELECT
    input.place, held.queue, held.kind,
    CASE WHEN octet_length(held.payload) = input.bytes THEN held.payload END AS payload
FROM unnest($1::uuid[], $2::int[]) WITH ORDINALITY AS input (id, bytes, place)
CROSS JOIN LATERAL (
    SELECT jobs.queue, jobs.kind, coalesce(events.data, jobs.payload) AS payload
    FROM queuekit.jobs
    LEFT JOIN queuekit.events ON events.seq = jobs.event
    WHERE jobs.id = input.id
    UNION ALL
    SELECT dead.queue, dead.kind, dead.payload
    FROM queuekit.dead
    WHERE dead.id = input.id
    OFFSET 0
) AS held
