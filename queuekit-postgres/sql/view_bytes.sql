-- How many bytes jobs have, as views.sql shows them (contract R8.9).
-- Parameters: $1 ids.
-- Result: id and bytes of each job that is stored, in no order.
-- Index: jobs_pkey, ended_pkey, dead_pkey, reports_pkey, events_pkey.
-- Locks: nothing.
SELECT
    job.id,
    job.bytes + coalesce(octet_length(job.metadata), 0)
    + coalesce(octet_length(job.errors::text), 0) + coalesce(octet_length(events.data), 0)
    + coalesce(octet_length(reports.lines::text), 0) AS bytes
FROM (
    SELECT
        jobs.id,
        octet_length(jobs.payload) + coalesce(octet_length(ended.result), 0) AS bytes,
        jobs.metadata, jobs.errors, jobs.event
    FROM queuekit.jobs
    LEFT JOIN queuekit.ended ON ended.id = jobs.id
    WHERE jobs.id = ANY ($1::uuid[])
    UNION ALL
    SELECT dead.id, octet_length(dead.payload), dead.metadata, dead.errors, NULL
    FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
) AS job
LEFT JOIN queuekit.events ON events.seq = job.event
LEFT JOIN queuekit.reports ON reports.job = job.id
