-- Purpose: stores more waiting jobs than are counted one by one. Of each thousand of `due`, some
-- have one priority and some another.
-- Parameters: none.
CREATE TEMPORARY TABLE many (queue text, jobs int, in_ms bigint, attempts smallint);
INSERT INTO many (queue, jobs, in_ms, attempts)
VALUES
    ('due', 20000, -60000, 0), ('due', 2, 3600000, 0), ('due', 1, 3600000, 1),
    ('later', 3, -60000, 0), ('later', 10001, 3600000, 0), ('later', 2, 3600000, 1),
    ('failed', 4, -60000, 1), ('failed', 5, 7200000, 0), ('failed', 15000, 3600000, 1);
INSERT INTO queuekit.queues (name)
SELECT DISTINCT many.queue
FROM many;
INSERT INTO queuekit.jobs (
    id, seq, scheduled_at, created_at, timeout_ms, queue, rank, attempts, max_attempts,
    unique_until_done, kind, payload
)
SELECT
    gen_random_uuid(), n, queuekit.now_ms() + many.in_ms + n, queuekit.now_ms(), 60000, queues.id,
    CASE WHEN n % 3 = 0 THEN 0 WHEN n % 3 = 1 THEN 15 ELSE 31 END, many.attempts, 3, false, 'work',
    'payload'
FROM many
JOIN queuekit.queues ON queues.name = many.queue
CROSS JOIN generate_series(1, many.jobs) AS n;
INSERT INTO queuekit.ready (id, at, seq, queue, rank)
SELECT jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank
FROM queuekit.jobs;
INSERT INTO queuekit.counts (queue, pending)
SELECT jobs.queue, count(*)
FROM queuekit.jobs
GROUP BY jobs.queue
