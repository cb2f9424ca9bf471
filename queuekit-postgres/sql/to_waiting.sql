-- Brings dead and cancelled jobs back.
-- Parameters: a row per job, sorted by id: $1 id; $2 whether it keeps its sequence; $3 delay in ms.
-- Result: the ids of those that were brought back. A cancelled delivery whose event has gone has no
-- payload any more, and is left where it is.
-- Index: dead_pkey, ended_pkey, jobs_pkey, events_pkey.
-- Locks: the rows it removes, and the bodies it writes.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now, nextval('queuekit.places') AS base
),
died AS (
    DELETE FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
    RETURNING
        dead.id, dead.seq, dead.created_at, dead.timeout_ms, dead.lease_seq, dead.deadline_ms,
        dead.started_at, dead.queue, dead.rank, dead.max_attempts, dead.unique_until_done,
        dead.kind, dead.lane, dead.idempotency_key, dead.worker, dead.moved_from, dead.metadata,
        dead.errors, dead.payload
),
cancelled AS (
    DELETE FROM queuekit.ended
    USING queuekit.jobs
    -- By id, not by state: there may be many of one state.
    WHERE
        ended.id = ANY ($1::uuid[]) AND ended.state + 0 = 4
        AND jobs.id = ended.id
        AND (
            jobs.event IS NULL
            OR EXISTS (SELECT FROM queuekit.events WHERE events.seq = jobs.event OFFSET 0)
        )
    RETURNING
        ended.id, ended.queue, ended.seq, ended.lease_seq, ended.started_at, ended.worker,
        ended.size
),
input AS MATERIALIZED (
    SELECT
        input.id, input.delay,
        CASE WHEN NOT input.keeps THEN clock.base + 1024 * (input.place - 1) END AS new_seq
    FROM clock
    CROSS JOIN unnest($1::uuid[], $2::boolean[], $3::bigint[]) WITH ORDINALITY
        AS input (id, keeps, delay, place)
),
again AS (
    UPDATE queuekit.jobs
    SET
        seq = coalesce(input.new_seq, cancelled.seq),
        scheduled_at = clock.now + input.delay,
        deadline_at = clock.now + input.delay + jobs.deadline_ms,
        lease_seq = cancelled.lease_seq,
        started_at = cancelled.started_at,
        worker = cancelled.worker,
        attempts = 0,
        releases = 0,
        lane = nullif(jobs.lane, ''),
        later = coalesce(jobs.lane, '') > '' AND input.delay > 0,
        indexed = true,
        payload = coalesce(
            (SELECT events.data FROM queuekit.events WHERE events.seq = jobs.event), jobs.payload
        ),
        event = NULL
    FROM clock
    CROSS JOIN input
    JOIN cancelled ON cancelled.id = input.id
    WHERE jobs.id = cancelled.id
    RETURNING jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank, jobs.lane
),
revived AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, lease_seq, deadline_ms, deadline_at,
        started_at, queue, rank, max_attempts, unique_until_done, kind, lane, idempotency_key,
        worker, moved_from, metadata, errors, payload, later
    )
    SELECT
        died.id, coalesce(input.new_seq, died.seq), clock.now + input.delay, died.created_at,
        died.timeout_ms, died.lease_seq, died.deadline_ms,
        clock.now + input.delay + died.deadline_ms, died.started_at, died.queue, died.rank,
        died.max_attempts, died.unique_until_done, died.kind, nullif(died.lane, ''),
        died.idempotency_key, died.worker, died.moved_from, died.metadata, died.errors,
        died.payload, coalesce(died.lane, '') > '' AND input.delay > 0
    FROM clock
    CROSS JOIN input
    JOIN died ON died.id = input.id
    RETURNING id, scheduled_at, seq, queue, rank, lane
),
body AS MATERIALIZED (
    SELECT again.* FROM again
    UNION ALL
    SELECT revived.* FROM revived
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, lane)
    SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank, body.lane
    FROM body
    WHERE body.lane IS NULL
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    WHERE body.lane > ''
),
counted AS (
    INSERT INTO queuekit.deltas (queue, pending, dead, dead_size, cancelled, cancelled_size)
    SELECT
        back.queue, count(*),
        - count(*) FILTER (WHERE back.state = 3),
        - coalesce(sum(back.size) FILTER (WHERE back.state = 3), 0),
        - count(*) FILTER (WHERE back.state = 4),
        - coalesce(sum(back.size) FILTER (WHERE back.state = 4), 0)
    FROM (
        SELECT died.queue, 3 AS state, length(died.payload) AS size FROM died
        UNION ALL
        SELECT cancelled.queue, 4, cancelled.size FROM cancelled
    ) AS back
    GROUP BY back.queue
)
SELECT body.id
FROM body
