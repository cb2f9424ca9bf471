-- The kinds and payloads stored under ids, to tell a repeated enqueue from another job.
-- Parameters: $1 ids.
-- Result: id, kind, payload.
-- Index: jobs_pkey, done_id, dead_pkey, events_pkey.
-- Locks: nothing.
SELECT jobs.id, jobs.kind, coalesce(events.data, jobs.payload) AS payload
FROM queuekit.jobs
LEFT JOIN queuekit.events ON events.seq = jobs.event
WHERE jobs.id = ANY ($1::uuid[])
UNION ALL
SELECT done.id, done.kind, coalesce(events.data, done.payload)
FROM queuekit.done
LEFT JOIN queuekit.events ON events.seq = done.event
WHERE done.id = ANY ($1::uuid[])
UNION ALL
SELECT dead.id, dead.kind, dead.payload
FROM queuekit.dead
WHERE dead.id = ANY ($1::uuid[])
