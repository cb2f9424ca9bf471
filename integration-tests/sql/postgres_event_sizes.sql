-- Purpose: bytes of payloads that jobs hold, and bytes of data that the log of events holds.
-- Parameters: none; the schema's name is put in.
SELECT
    (
        SELECT coalesce(sum(length(job.payload)), 0)
        FROM (
            SELECT jobs.payload FROM queuekit.jobs
            UNION ALL
            SELECT dead.payload FROM queuekit.dead
        ) AS job
    )::bigint AS held,
    (SELECT coalesce(sum(length(events.data)), 0) FROM queuekit.events)::bigint AS logged
