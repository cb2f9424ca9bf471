-- Purpose: reads a job's queue, kind and payload, to compare them with those of an equal id.
-- Parameters: 1 key.
-- Result: queue, kind, payload.
-- Index: the primary keys.
SELECT jobs.queue, jobs.kind, coalesce(jobs.payload, large.payload, events.data) AS payload
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key AND jobs.payload IS NULL
LEFT JOIN queuekit_events AS events ON events.seq = jobs.event
WHERE jobs.key = ?1;
