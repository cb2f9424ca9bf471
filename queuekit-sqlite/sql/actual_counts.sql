-- Purpose: counts what a queue's counters say.
-- Parameters: 1 queue.
-- Result: state, jobs, bytes of payloads and results.
-- Index: queuekit_jobs_pending, queuekit_jobs_leased, queuekit_jobs_ended.
SELECT 0 AS state, count(*) AS jobs, 0 AS bytes FROM queuekit_jobs WHERE queue = ?1 AND state = 0
UNION ALL
SELECT 1, count(*), 0 FROM queuekit_jobs WHERE queue = ?1 AND state = 1
UNION ALL
SELECT state, count(*), sum(size) FROM queuekit_jobs WHERE queue = ?1 AND state >= 2
GROUP BY state;
