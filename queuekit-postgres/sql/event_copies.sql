-- The payloads of deliveries whose events have gone from the log.
-- Parameters: $1 ids.
-- Result: id and payload of each that has a copy.
-- Index: jobs_pkey.
-- Locks: nothing.
SELECT jobs.id, jobs.payload
FROM queuekit.jobs
WHERE jobs.id = ANY ($1::uuid[]) AND jobs.event IS NULL
