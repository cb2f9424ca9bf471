-- Brings dead and cancelled jobs back.
-- Parameters: a row per job, sorted by id: $1 id; $2 whether it keeps its sequence; $3 delay in ms.
-- Result: the ids of those that were brought back. A cancelled delivery whose event has gone has no
-- payload any more, and is left where it is.
-- Index: dead_pkey, done_id, events_pkey.
-- Locks: the rows it removes.
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
        dead.errors, dead.payload, 3 AS state, length(dead.payload) AS size
),
cancelled AS (
    DELETE FROM queuekit.done
    -- By id, not by state: there may be many of one state.
    WHERE
        done.id = ANY ($1::uuid[]) AND done.state + 0 = 4
        AND (
            done.event IS NULL
            OR EXISTS (SELECT FROM queuekit.events WHERE events.seq = done.event OFFSET 0)
        )
    RETURNING
        done.id, done.seq, done.created_at, done.timeout_ms, done.lease_seq, done.deadline_ms,
        done.started_at, done.queue, done.rank, done.max_attempts, done.unique_until_done,
        done.kind, done.lane, done.idempotency_key, done.worker, done.moved_from, done.metadata,
        done.errors,
        coalesce(
            (SELECT events.data FROM queuekit.events WHERE events.seq = done.event), done.payload
        ),
        4 AS state, length(done.payload) AS size
),
ended AS MATERIALIZED (
    SELECT died.* FROM died
    UNION ALL
    SELECT cancelled.* FROM cancelled
),
body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, lease_seq, deadline_ms, deadline_at,
        started_at, queue, rank, max_attempts, unique_until_done, kind, lane, idempotency_key,
        worker, moved_from, metadata, errors, payload, later
    )
    SELECT
        ended.id,
        CASE
            WHEN input.keeps THEN ended.seq
            ELSE clock.base + 1024 * (input.place - 1)
        END,
        clock.now + input.delay, ended.created_at, ended.timeout_ms, ended.lease_seq,
        ended.deadline_ms, clock.now + input.delay + ended.deadline_ms, ended.started_at, ended.queue, ended.rank,
        ended.max_attempts, ended.unique_until_done, ended.kind,
        nullif(ended.lane, ''),
        ended.idempotency_key, ended.worker, ended.moved_from, ended.metadata, ended.errors,
        ended.payload, coalesce(ended.lane, '') > '' AND input.delay > 0
    FROM unnest($1::uuid[], $2::boolean[], $3::bigint[]) WITH ORDINALITY
        AS input (id, keeps, delay, place)
    CROSS JOIN clock
    JOIN ended ON ended.id = input.id
    RETURNING id, scheduled_at, seq, queue, rank, lane
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
        ended.queue,
        count(*),
        - count(*) FILTER (WHERE ended.state = 3),
        - coalesce(sum(ended.size) FILTER (WHERE ended.state = 3), 0),
        - count(*) FILTER (WHERE ended.state = 4),
        - coalesce(sum(ended.size) FILTER (WHERE ended.state = 4), 0)
    FROM ended
    GROUP BY ended.queue
)
SELECT body.id
FROM body
