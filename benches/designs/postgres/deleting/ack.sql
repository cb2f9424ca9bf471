-- Completes jobs.
-- Parameters: $1 ids, sorted.
-- Result: how many.
-- Index: jobs_pkey; `+ 0` keeps the planner from jobs_running, which it takes for empty.
-- Locks: the jobs it removes.
WITH body AS (
    DELETE FROM jobs
    USING unnest($1::uuid[]) AS input (id)
    WHERE jobs.id = input.id AND jobs.state + 0 = 1
    RETURNING jobs.*
),
ended AS (
    INSERT INTO done (
        id, seq, queue, rank, scheduled_at, created_at, started_at, finished_at, state, attempts,
        max_attempts, worker, kind, payload
    )
    SELECT
        body.id, body.seq, body.queue, body.rank, body.scheduled_at, body.created_at,
        body.started_at, clock.now, 2, body.attempts, body.max_attempts, body.worker, body.kind,
        body.payload
    FROM body
    CROSS JOIN (
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now OFFSET 0
    ) AS clock
)
SELECT count(*)
FROM body
