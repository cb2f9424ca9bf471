-- Purpose: finds places behind the heads of keys that belong to no pending job.
-- Parameters: 1 queue, 2 how many.
-- Result: lane, seq.
-- Index: the primary keys. It looks at every waiting job of the queue, so it runs on readers only,
-- and only for short queues.
SELECT waiting.lane AS lane, waiting.seq AS seq
FROM queuekit_waiting AS waiting
LEFT JOIN queuekit_jobs AS jobs ON jobs.key = waiting.job
LEFT JOIN queuekit_runs AS runs ON runs.job = waiting.job
WHERE waiting.queue = ?1
    AND (jobs.state IS NOT 0 OR jobs.seq <> waiting.seq OR runs.job IS NOT NULL)
LIMIT ?2;
