-- Purpose: reads the columns that show a job, beyond its record.
-- Parameters: 1 key.
-- Result: payload, metadata, result, moved_from, progress and its message.
-- Index: the primary keys.
SELECT
    coalesce(jobs.payload, large.payload, events.data) AS payload, jobs.metadata,
    jobs.result, jobs.moved_from, jobs.progress, jobs.progress_message
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key AND jobs.payload IS NULL
LEFT JOIN queuekit_events AS events ON events.seq = jobs.event
WHERE jobs.key = ?1;
