-- What is stored under ids, to tell a repeat from another job.
-- Parameters: $1 ids.
-- Result: id, kind, payload.
-- Index: jobs_pkey, done_id, dead_pkey.
-- Locks: nothing.
SELECT jobs.id, jobs.kind, jobs.payload
FROM queuekit.jobs
WHERE jobs.id = ANY ($1::uuid[])
UNION ALL
SELECT done.id, done.kind, done.payload
FROM queuekit.done
WHERE done.id = ANY ($1::uuid[])
UNION ALL
SELECT dead.id, dead.kind, dead.payload
FROM queuekit.dead
WHERE dead.id = ANY ($1::uuid[])
