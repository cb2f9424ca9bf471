-- Purpose: compares what a queue's row counts with its jobs.
-- Result: a text per queue with its counters and the true counts.
SELECT
    printf('%s: %d %d %d %d %d, %d %d %d', name, pending, running, completed, dead, cancelled,
        completed_size, dead_size, cancelled_size),
    printf('%s: %d %d %d %d %d, %d %d %d', name,
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 0
            AND key NOT IN (SELECT job FROM queuekit_running)),
        (SELECT count(*) FROM queuekit_running WHERE queue = queues.id),
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 2),
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 3),
        (SELECT count(*) FROM queuekit_jobs WHERE queue = queues.id AND state = 4),
        (SELECT sum(size) FROM queuekit_jobs WHERE queue = queues.id AND state = 2),
        (SELECT sum(size) FROM queuekit_jobs WHERE queue = queues.id AND state = 3),
        (SELECT sum(size) FROM queuekit_jobs WHERE queue = queues.id AND state = 4))
FROM queuekit_queues AS queues;
