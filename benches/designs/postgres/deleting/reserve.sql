-- Leases jobs.
-- Parameters: $1 how many.
-- Result: id, kind and payload of each.
-- Index: jobs_ready.
-- Locks: the jobs it takes; passes over what others hold.
WITH clock AS MATERIALIZED (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
),
next AS MATERIALIZED (
    SELECT spot.*
    FROM clock
    CROSS JOIN LATERAL (
        SELECT jobs.ctid AS spot
        FROM jobs
        WHERE
            jobs.state = 0 AND jobs.queue = 1 AND jobs.rank = 21
            AND jobs.scheduled_at <= clock.now
        ORDER BY jobs.scheduled_at, jobs.seq
        LIMIT $1::int
        FOR UPDATE SKIP LOCKED
    ) AS spot
)
UPDATE jobs
SET
    state = 1, attempts = jobs.attempts + 1, started_at = clock.now,
    lease_expires_at = clock.now + 30000, worker = 'a worker'
FROM next
CROSS JOIN clock
WHERE jobs.ctid = next.spot
RETURNING jobs.id, jobs.kind, jobs.payload
