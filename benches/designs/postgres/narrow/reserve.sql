-- Leases jobs.
-- Parameters: $1 how many.
-- Result: id, kind and payload of each.
-- Index: ready_order, jobs_pkey.
-- Locks: the rows of ready it takes; passes over what others hold.
WITH clock AS MATERIALIZED (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
),
next AS MATERIALIZED (
    SELECT spot.*
    FROM clock
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS spot, ready.id
        FROM ready
        WHERE ready.queue = 1 AND ready.rank = 21 AND ready.at <= clock.now
        ORDER BY ready.at, ready.seq
        LIMIT $1::int
        FOR UPDATE SKIP LOCKED
    ) AS spot
),
taken AS (
    DELETE FROM ready
    USING next
    WHERE ready.ctid = next.spot
    RETURNING next.id
),
body AS MATERIALIZED (
    SELECT job.*
    FROM taken
    CROSS JOIN LATERAL (
        SELECT jobs.id, jobs.queue, jobs.kind, jobs.payload
        FROM jobs
        WHERE jobs.id = taken.id
        OFFSET 0
    ) AS job
),
granted AS (
    INSERT INTO running (id, lease_expires_at, started_at, queue, attempts, worker)
    SELECT body.id, clock.now + 30000, clock.now, body.queue, 1, 'a worker'
    FROM body
    CROSS JOIN clock
)
SELECT body.id, body.kind, body.payload
FROM body
