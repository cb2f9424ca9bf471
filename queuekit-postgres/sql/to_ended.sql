-- Ends jobs that waited or ran.
-- Parameters: a column each, a row per job, sorted by id: $1 id; $2 whether it ran; $3 state; $4
-- attempts; $5 lease_seq; $6 nonce; $7 started; $8 worker; $9 cancel_requested; $10 holds its
-- partition key; $11 reason; $12 failures and releases to add, as a JSON array, or NULL;
-- $13 whether its record was unreadable. $14 most failures and $15 most releases that are kept.
-- Result: none.
-- Index: running_pkey, jobs_pkey, events_pkey.
-- Locks: the leases it removes, which the caller has locked, and the bodies.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
lease AS (
    DELETE FROM queuekit.running
    WHERE running.id = ANY ($1::uuid[])
),
input AS MATERIALIZED (
    SELECT input.*
    FROM unnest(
        $1::uuid[], $2::boolean[], $3::smallint[], $4::smallint[], $5::bigint[], $6::uuid[],
        $7::bigint[], $8::text[], $9::boolean[], $10::boolean[], $11::text[], $12::text[],
        $13::boolean[]
    ) AS input (
        id, ran, state, attempts, lease_seq, nonce, started_at, worker, cancel_requested, holds,
        reason, added, corrupt
    )
),
cancelled AS (
    UPDATE queuekit.jobs
    SET
        indexed = false,
        errors = queuekit.run_ends(jobs.errors, input.added::jsonb, $14::int, $15::int)
    FROM input
    WHERE jobs.id = input.id AND input.state <> 3
    RETURNING
        jobs.id, jobs.queue, jobs.seq, jobs.lane, input.ran, input.state, input.corrupt,
        input.attempts, input.lease_seq, input.nonce, input.started_at, input.worker,
        input.cancel_requested, length(jobs.payload) AS size
),
ended AS (
    INSERT INTO queuekit.ended (
        id, nonce, finished_at, started_at, seq, lease_seq, queue, size, state, attempts,
        cancel_requested, worker
    )
    SELECT
        cancelled.id, cancelled.nonce, clock.now, cancelled.started_at, cancelled.seq,
        cancelled.lease_seq, cancelled.queue, cancelled.size, cancelled.state, cancelled.attempts,
        cancelled.cancel_requested, cancelled.worker
    FROM cancelled
    CROSS JOIN clock
),
dead AS (
    DELETE FROM queuekit.jobs
    USING input
    WHERE jobs.id = input.id AND input.state = 3
    RETURNING
        jobs.id, jobs.seq, jobs.scheduled_at, jobs.created_at, jobs.timeout_ms, jobs.deadline_ms,
        jobs.deadline_at, jobs.queue, jobs.releases, jobs.rank, jobs.max_attempts,
        jobs.unique_until_done, jobs.kind, jobs.lane, jobs.idempotency_key, jobs.moved_from,
        jobs.metadata, jobs.payload, jobs.event, input.ran, input.attempts, input.lease_seq,
        input.nonce, input.started_at, input.worker, input.cancel_requested, input.holds,
        input.reason, input.corrupt,
        queuekit.run_ends(jobs.errors, input.added::jsonb, $14::int, $15::int) AS errors
),
died AS (
    INSERT INTO queuekit.dead (
        id, nonce, finished_at, seq, lease_seq, scheduled_at, created_at, timeout_ms, deadline_ms,
        deadline_at, started_at, queue, releases, rank, attempts, max_attempts,
        unique_until_done, cancel_requested, holds, kind, lane, idempotency_key, worker,
        moved_from, reason, metadata, errors, payload
    )
    SELECT
        dead.id, dead.nonce, clock.now, dead.seq, dead.lease_seq, dead.scheduled_at,
        dead.created_at, dead.timeout_ms, dead.deadline_ms, dead.deadline_at, dead.started_at,
        dead.queue, dead.releases, dead.rank, dead.attempts, dead.max_attempts,
        dead.unique_until_done, dead.cancel_requested, dead.holds, dead.kind, dead.lane,
        dead.idempotency_key, dead.worker, dead.moved_from, coalesce(dead.reason, ''),
        dead.metadata, dead.errors,
        -- A dead delivery may outlive its event by far, so it gets a copy of the data.
        coalesce(
            (SELECT events.data FROM queuekit.events WHERE events.seq = dead.event), dead.payload
        )
    FROM dead
    CROSS JOIN clock
    RETURNING dead.queue, length(dead.payload) AS size
),
body AS MATERIALIZED (
    SELECT cancelled.queue, cancelled.lane, cancelled.ran, cancelled.state, cancelled.corrupt,
        cancelled.size
    FROM cancelled
    UNION ALL
    SELECT dead.queue, dead.lane, dead.ran, 3, dead.corrupt, 0
    FROM dead
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    WHERE body.lane > ''
)
INSERT INTO queuekit.deltas (
    queue, pending, running, dead, dead_size, cancelled, cancelled_size, ended, died, corrupt
)
SELECT
    body.queue,
    - count(*) FILTER (WHERE NOT body.ran),
    - count(*) FILTER (WHERE body.ran),
    count(*) FILTER (WHERE body.state = 3),
    coalesce((SELECT sum(died.size) FROM died WHERE died.queue = body.queue), 0),
    count(*) FILTER (WHERE body.state = 4),
    coalesce(sum(body.size) FILTER (WHERE body.state = 4), 0),
    count(*),
    count(*) FILTER (WHERE body.state = 3),
    count(*) FILTER (WHERE body.corrupt)
FROM body
GROUP BY body.queue
