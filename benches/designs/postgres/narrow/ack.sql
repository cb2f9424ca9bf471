-- Completes jobs.
-- Parameters: $1 ids, sorted.
-- Result: how many.
-- Index: running_pkey, jobs_pkey.
-- Locks: the leases and bodies it removes.
WITH clock AS MATERIALIZED (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
),
lease AS (
    DELETE FROM running
    USING unnest($1::uuid[]) AS input (id)
    WHERE running.id = input.id
    RETURNING running.*
),
body AS (
    DELETE FROM jobs
    USING lease
    WHERE jobs.id = lease.id
    RETURNING jobs.*, lease.started_at, lease.attempts, lease.worker
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
    CROSS JOIN clock
)
SELECT count(*)
FROM body
