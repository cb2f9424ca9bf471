-- Purpose: lets each job that runs or has completed stand among the ready ones, too.
INSERT INTO queuekit_ready (queue, rank, at, seq, job)
SELECT jobs.queue, jobs.rank, jobs.scheduled_at, jobs.seq, jobs.key
FROM queuekit_jobs AS jobs
JOIN queuekit_runs AS runs ON runs.job = jobs.key;
