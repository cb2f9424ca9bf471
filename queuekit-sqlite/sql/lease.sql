-- Purpose: reads what a worker needs of a job beside its record.
-- Parameters: 1 key.
-- Result: payload, metadata.
-- Index: the primary keys.
SELECT
    coalesce(jobs.payload, large.payload), jobs.metadata
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key AND jobs.payload IS NULL
WHERE jobs.key = ?1;
