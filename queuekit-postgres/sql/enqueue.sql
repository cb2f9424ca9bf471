-- Stores jobs without idempotency key, in queues without a bound.
-- Parameters: $1..$14 a column each, a row per job, sorted by id: id; queue; place in the call;
-- kind; rank; delay in ms; or absolute time in ms; max_attempts; timeout in ms; deadline in ms;
-- metadata; payload; moved_from; partition key. $15 the queues, each once. A column that is never
-- NULL and has the same value for all jobs may be sent as that one value; a column of nothing but
-- NULL may be sent empty.
-- Result: one row: how many were stored: all, or none if a queue is gone or has a bound by now. The
-- statement fails if an id is taken: checking ids would cost every job, so that is left to
-- enqueue_any.
-- Index: queues_pkey, jobs_pkey.
-- Locks: only those who store the same id wait.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now, nextval('queuekit.places') AS base
),
known AS MATERIALIZED (
    SELECT queues.id
    FROM queuekit.queues
    WHERE
        queues.id = ANY ($15::int[]) AND queues.max_pending IS NULL
        AND queues.removed_by IS NULL
),
body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
        max_attempts, unique_until_done, later, kind, lane, moved_from, metadata, payload
    )
    SELECT
        input.id,
        clock.base + 1024 * input.place,
        greatest(
            coalesce(input.at, clock.now + coalesce(input.delay, ($6::bigint[])[1])), clock.now
        ),
        clock.now,
        coalesce(input.timeout, ($9::bigint[])[1]),
        input.deadline,
        clock.now + input.deadline,
        known.id,
        coalesce(input.rank, ($5::smallint[])[1]),
        coalesce(input.max_attempts, ($8::smallint[])[1]),
        false,
        input.partition_key IS NOT NULL
        AND coalesce(input.at, clock.now + coalesce(input.delay, ($6::bigint[])[1])) > clock.now,
        coalesce(input.kind, ($4::text[])[1]),
        input.partition_key,
        input.moved_from,
        input.metadata,
        input.payload
    FROM clock
    CROSS JOIN unnest(
        $1::uuid[], $2::int[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[],
        $7::bigint[], $8::smallint[], $9::bigint[], $10::bigint[], $11::text[], $12::bytea[],
        $13::uuid[], $14::text[]
    ) AS input (
        id, queue, place, kind, rank, delay, at, max_attempts, timeout, deadline, metadata,
        payload, moved_from, partition_key
    )
    JOIN known ON known.id = coalesce(input.queue, ($2::int[])[1])
    WHERE (SELECT count(*) FROM known) = cardinality($15::int[])
    RETURNING id, scheduled_at, seq, created_at, queue, rank, lane
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, lane)
    SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank, body.lane
    FROM body
    WHERE body.lane IS NULL
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT body.created_at, body.queue, body.lane
    FROM body
    WHERE body.lane > ''
),
counted AS (
    INSERT INTO queuekit.deltas (queue, pending)
    SELECT body.queue, count(*)
    FROM body
    GROUP BY body.queue
    RETURNING pending
)
SELECT coalesce(sum(counted.pending), 0)::bigint AS stored
FROM counted
