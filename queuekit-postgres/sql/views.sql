-- The large columns of jobs, and their reports.
-- Parameters: $1 ids.
-- Result: a row per job that is stored: id, payload, metadata, result, moved_from; progress,
-- message, lines as JSON; failures and releases as JSON; whether it waits or runs and its event was
-- not found.
-- Index: jobs_pkey, ended_pkey, dead_pkey, reports_pkey, events_pkey.
-- Locks: nothing.
SELECT
    job.id, coalesce(events.data, job.payload) AS payload, job.metadata, job.result,
    job.moved_from, reports.fraction, reports.message, reports.lines::text AS lines,
    job.errors::text AS errors,
    job.is_open AND job.event IS NOT NULL AND events.seq IS NULL AS is_lacking
FROM (
    SELECT
        jobs.id, jobs.payload, jobs.metadata, ended.result, jobs.moved_from, jobs.event,
        ended.id IS NULL AS is_open, jobs.errors
    FROM queuekit.jobs
    LEFT JOIN queuekit.ended ON ended.id = jobs.id
    WHERE jobs.id = ANY ($1::uuid[])
    UNION ALL
    SELECT dead.id, dead.payload, dead.metadata, NULL, dead.moved_from, NULL, false, dead.errors
    FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
) AS job
LEFT JOIN queuekit.events ON events.seq = job.event
LEFT JOIN queuekit.reports ON reports.job = job.id
