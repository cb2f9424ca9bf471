-- Purpose: stores a number of partition keys with three jobs each in queue 1, where two of a key
-- may run at once, and in queue 2, where one may; all on the agenda.
-- Parameters: none; the number of keys is put in.
INSERT INTO queuekit.queues (id, name, keyed, settings) OVERRIDING SYSTEM VALUE
VALUES (1, 'looked', true, '{"per_key": 2}'), (2, 'heads', true, '{}');

INSERT INTO queuekit.jobs (
    id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts, unique_until_done,
    kind, lane, payload
)
SELECT
    test_id(queues.id, n), n, 1000000000000, 1000000000000, 60000, queues.id, 21, 3, false, 'work',
    'k' || n % {keys}, 'payload'
FROM queuekit.queues
CROSS JOIN generate_series(1, 3 * {keys}) AS n;

INSERT INTO queuekit.agenda (at, queue, lane)
SELECT 1000000000000, queues.id, 'k' || n
FROM queuekit.queues
CROSS JOIN generate_series(0, {keys} - 1) AS n
