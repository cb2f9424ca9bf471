-- Purpose: compares what a queue's row counts with its jobs.
-- Result: a text per queue with its counters and the true counts.
WITH runs AS (
    SELECT jobs.queue, jobs.size, claims.finished_at IS NOT NULL AS is_completed
    FROM queuekit_runs AS runs
    JOIN queuekit_claims AS claims ON claims.claim = runs.claim
    JOIN queuekit_jobs AS jobs ON jobs.key = runs.job
)

SELECT
    printf('%s: %d %d %d %d %d, %d %d %d', name, pending, running, completed, dead, cancelled,
        completed_size, dead_size, cancelled_size),
    printf('%s: %d %d %d %d %d, %d %d %d', name,
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 0
            AND key NOT IN (SELECT job FROM queuekit_runs)),
        (SELECT count(*) FROM runs WHERE queue = queues.id AND NOT is_completed),
        (SELECT count(*) FROM runs WHERE queue = queues.id AND is_completed),
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 3),
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 4),
        (SELECT sum(size) FROM runs WHERE queue = queues.id AND is_completed),
        (SELECT sum(size) FROM queuekit_jobs WHERE queue = queues.id AND state = 3),
        (SELECT sum(size) FROM queuekit_jobs WHERE queue = queues.id AND state = 4))
FROM queuekit_queues AS queues;
