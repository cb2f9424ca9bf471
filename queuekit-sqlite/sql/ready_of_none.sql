-- Purpose: finds places among the ready jobs that belong to no pending job.
-- Parameters: 1 queue, 2 how many.
-- Result: rank, at, seq.
-- Index: the primary keys. It looks at every ready job of the queue, so it runs on readers only,
-- and only for short queues.
SELECT ready.rank AS rank, ready.at AS at, ready.seq AS seq
FROM queuekit_ready AS ready
LEFT JOIN queuekit_jobs AS jobs ON jobs.key = ready.job
LEFT JOIN queuekit_runs AS runs ON runs.job = ready.job
WHERE ready.queue = ?1
    AND (jobs.state IS NOT 0 OR jobs.seq <> ready.seq OR runs.job IS NOT NULL)
LIMIT ?2;
