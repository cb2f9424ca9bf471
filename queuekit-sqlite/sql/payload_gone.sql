-- Purpose: checks whether a delivery has outlived its event, and with it its payload.
-- Parameters: 1 the job's key.
-- Result: a row if so.
-- Index: the primary keys.
SELECT 1
FROM queuekit_jobs AS jobs
WHERE
    jobs.key = ?1 AND jobs.event IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM queuekit_events AS events WHERE events.seq = jobs.event);
