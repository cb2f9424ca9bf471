-- Purpose: 10,000 queues with a waiting and a completed job each. Calls of functions are counted.
-- Parameters: none.
INSERT INTO queuekit.queues (name)
SELECT 'q' || lpad(n::text, 5, '0')
FROM generate_series(1, 10000) AS queue (n);

INSERT INTO queuekit.jobs (
    id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts, unique_until_done,
    kind, payload
)
SELECT
    gen_random_uuid(), 1048576 * queues.id::bigint, 1000000000000, 1000000000000, 60000, queues.id,
    21, 3, false, 'work', '\x7b7d'
FROM queuekit.queues;

INSERT INTO queuekit.ready (id, at, seq, queue, rank)
SELECT jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank
FROM queuekit.jobs;

WITH body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts,
        unique_until_done, kind, payload
    )
    SELECT
        gen_random_uuid(), jobs.seq, jobs.scheduled_at, jobs.created_at, 60000, jobs.queue, 21, 3,
        false, 'work', '\x7b7d'
    FROM queuekit.jobs
    RETURNING id, seq, queue
)
INSERT INTO queuekit.ended (
    id, finished_at, seq, lease_seq, queue, size, state, attempts, cancel_requested
)
SELECT body.id, queuekit.now_ms(), body.seq, 1, body.queue, 2, 2, 1, false
FROM body;

INSERT INTO queuekit.counts (queue, pending, completed, completed_size)
SELECT queues.id, 1, 1, 2
FROM queuekit.queues;

DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET track_functions = ''all''', current_database());
END $$
