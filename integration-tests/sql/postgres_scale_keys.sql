-- Purpose: so many partition keys with three jobs each, all on the agenda of queue 1. Two of a key
-- may run at once.
-- Parameters: none; the number of keys is put in.
INSERT INTO queuekit.queues (id, name, keyed, per_key) OVERRIDING SYSTEM VALUE
VALUES (1, 'looked', true, 2);

INSERT INTO queuekit.jobs (
    id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts, unique_until_done,
    kind, lane, payload
)
SELECT
    test_id(1, n), n, 1000000000000, 1000000000000, 60000, 1, 21, 3, false, 'work',
    'k' || n % {keys}, 'payload'
FROM generate_series(1, 3 * {keys}) AS n;

INSERT INTO queuekit.agenda (at, queue, lane)
SELECT 1000000000000, 1, 'k' || n
FROM generate_series(0, {keys} - 1) AS n
