-- Purpose: reads a job's large payload: its own, or that of its event.
-- Parameters: 1 the job's key.
-- Result: payload, or none if it is gone.
-- Index: the primary keys.
SELECT coalesce(large.payload, events.data) AS payload
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key
LEFT JOIN queuekit_events AS events ON events.seq = jobs.event
WHERE jobs.key = ?1 AND coalesce(large.job, events.seq) IS NOT NULL;
