-- Purpose: stores a number of jobs of each kind. Queues: 1 plain, due; 2 later, due in 2100; 3
-- ended, completed or, as of queue 8, dead; 4 leased, with idempotency keys; 5 key, 6 fair and 7
-- passed, all of the partition key k, in 7 due in 2100 but for the first ten. In 5 two of a key may
-- run at once. 9 is like 7, but all of its jobs came due since the last reserve.
-- Parameters: none; the number of jobs is put in.
INSERT INTO queuekit.queues (id, name, keyed, settings) OVERRIDING SYSTEM VALUE
VALUES
    (1, 'plain', false, '{}'),
    (2, 'later', false, '{}'),
    (3, 'ended', false, '{}'),
    (4, 'leased', false, '{}'),
    (5, 'key', true, '{"per_key": 2}'),
    (6, 'fair', true, '{"order": "fair"}'),
    (7, 'passed', true, '{"key_on_wait": "skip"}'),
    (9, 'overdue', true, '{"key_on_wait": "skip"}');

INSERT INTO queuekit.jobs (
    id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts, unique_until_done,
    later, kind, lane, idempotency_key, payload
)
SELECT
    test_id(queues.id, n), n,
    CASE
        WHEN queues.id = 2 OR (queues.id = 7 AND n > 10) THEN 4102444800000
        ELSE 1000000000000
    END + n,
    1000000000000, 60000, queues.id, 21, 3, false, queues.id IN (7, 9), 'work',
    CASE WHEN queues.keyed THEN 'k' END,
    CASE WHEN queues.id = 4 THEN 'i' || n END,
    'payload'
FROM queuekit.queues
CROSS JOIN generate_series(1, {jobs}) AS n;

INSERT INTO queuekit.ready (id, at, seq, queue, rank)
SELECT jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank
FROM queuekit.jobs
WHERE jobs.queue IN (1, 2);

INSERT INTO queuekit.running (
    id, nonce, lease_expires_at, seq, lease_seq, started_at, queue, attempts, worker, plain, size
)
SELECT
    test_id(4, n), test_id(4, n), queuekit.now_ms() + n, n, 1, 1000000000000, 4, 1, 'w', false, 7
FROM generate_series(1, {jobs}) AS n;

INSERT INTO queuekit.agenda (at, queue, lane)
SELECT queuekit.now_ms(), queues.id, 'k'
FROM queuekit.queues
WHERE queues.keyed;

-- The completed jobs of queue 3 have their bodies among the others.
INSERT INTO queuekit.ended (
    id, finished_at, seq, lease_seq, queue, size, state, attempts, cancel_requested
)
SELECT test_id(3, n), queuekit.now_ms() + n, n, 1, 3, 7, 2, 1, false
FROM generate_series(1, {jobs}) AS n;

INSERT INTO queuekit.dead (
    id, finished_at, seq, lease_seq, scheduled_at, created_at, timeout_ms, queue, releases, rank,
    attempts, max_attempts, unique_until_done, cancel_requested, holds, kind, reason, payload
)
SELECT
    test_id(8, n), 1000000000000 + n, n, 1, 1000000000000, 1000000000000, 60000, 3, 0, 21, 1, 3,
    false, false, false, 'work', 'bad', 'payload'
FROM generate_series(1, {jobs}) AS n;

INSERT INTO queuekit.idempotency (queue, key, job, free_at)
SELECT 'leased', 'i' || n, test_id(4, n), NULL
FROM generate_series(1, {jobs}) AS n
UNION ALL
SELECT 'ended', 'i' || n, test_id(3, n), 4102444800000 + n
FROM generate_series(1, {jobs}) AS n
