-- Stores jobs of any kind.
-- Parameters: $1..$16 a column each, a row per job, sorted by id: id; queue; place in the call;
-- kind; rank; delay in ms; or absolute time in ms; max_attempts; timeout in ms; deadline in ms;
-- metadata; payload; moved_from; partition key; idempotency key; unique_until_done. No id and no
-- idempotency key occurs twice. $2..$13 may be shortened as in enqueue.sql. $17 whether to look for
-- the ids among dead jobs too; $18 a row per job: the place of the event that has its payload, or
-- NULL; $19 whether they are deliveries, which are stored even if the queue is full.
-- Result: the ids of those that were stored. The others are duplicates, or their queue is full.
-- Index: queues_pkey, jobs_pkey, dead_pkey, idempotency_pkey, deltas_queue, counts_pkey.
-- One look-up per job (OFFSET 0): with a join the planner may compare every row with every job.
-- Locks: only those who store the same id or idempotency key wait.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now, nextval('queuekit.places') AS base
),
input AS MATERIALIZED (
    SELECT
        input.id, queues.id AS queue, input.place,
        coalesce(input.kind, ($4::text[])[1]) AS kind,
        coalesce(input.rank, ($5::smallint[])[1]) AS rank,
        coalesce(input.max_attempts, ($8::smallint[])[1]) AS max_attempts,
        coalesce(input.timeout, ($9::bigint[])[1]) AS timeout,
        input.deadline, input.metadata, input.payload, input.moved_from, input.idempotency_key,
        input.unique_until_done, input.event, queues.name AS queue_name,
        CASE WHEN NOT $19::boolean THEN queues.max_pending END AS max_pending,
        input.partition_key AS lane,
        greatest(
            coalesce(input.at, clock.now + coalesce(input.delay, ($6::bigint[])[1])), clock.now
        ) AS scheduled_at
    FROM clock
    CROSS JOIN unnest(
        $1::uuid[], $2::int[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[],
        $7::bigint[], $8::smallint[], $9::bigint[], $10::bigint[], $11::text[], $12::bytea[],
        $13::uuid[], $14::text[], $15::text[], $16::boolean[], $18::bigint[]
    ) AS input (
        id, queue, place, kind, rank, delay, at, max_attempts, timeout, deadline, metadata,
        payload, moved_from, partition_key, idempotency_key, unique_until_done,
        event
    )
    CROSS JOIN LATERAL (
        SELECT queues.id, queues.name, queues.max_pending
        FROM queuekit.queues
        WHERE queues.id = coalesce(input.queue, ($2::int[])[1]) AND queues.removed_by IS NULL
        OFFSET 0
    ) AS queues
),
fresh AS MATERIALIZED (
    SELECT input.id, input.queue, input.place, input.max_pending
    FROM input
    CROSS JOIN clock
    WHERE
        NOT EXISTS (SELECT FROM queuekit.jobs WHERE jobs.id = input.id OFFSET 0)
        AND NOT (
            $17::boolean
            AND EXISTS (SELECT FROM queuekit.dead WHERE dead.id = input.id OFFSET 0)
        )
        AND NOT EXISTS (
            SELECT FROM queuekit.idempotency AS held
            WHERE
                held.queue = input.queue_name AND held.key = input.idempotency_key
                AND (held.free_at IS NULL OR held.free_at > clock.now)
            OFFSET 0
        )
),
room AS MATERIALIZED (
    SELECT
        bounded.queue,
        bounded.max_pending
        - coalesce((SELECT pending FROM queuekit.counts WHERE counts.queue = bounded.queue), 0)
        - coalesce((SELECT sum(pending) FROM queuekit.deltas WHERE deltas.queue = bounded.queue), 0)
        AS jobs
    FROM (SELECT DISTINCT queue, max_pending FROM fresh WHERE max_pending IS NOT NULL) AS bounded
),
admitted AS MATERIALIZED (
    SELECT ranked.id
    FROM (
        SELECT
            fresh.id, fresh.queue, fresh.max_pending,
            row_number() OVER (PARTITION BY fresh.queue ORDER BY fresh.place) AS n
        FROM fresh
    ) AS ranked
    LEFT JOIN room ON room.queue = ranked.queue
    WHERE ranked.max_pending IS NULL OR ranked.n <= room.jobs
),
keyed AS (
    INSERT INTO queuekit.idempotency (queue, key, job)
    SELECT input.queue_name, input.idempotency_key, input.id
    FROM input
    WHERE
        input.idempotency_key IS NOT NULL
        -- IS TRUE keeps the planner from a join that compares every job with every other.
        AND (input.id IN (SELECT id FROM admitted)) IS TRUE
    ORDER BY input.queue_name, input.idempotency_key
    ON CONFLICT (queue, key) DO NOTHING
    RETURNING job
),
body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
        max_attempts, unique_until_done, later, kind, lane, idempotency_key, moved_from, metadata,
        payload, event
    )
    SELECT
        input.id,
        clock.base + 1024 * input.place,
        input.scheduled_at,
        clock.now,
        input.timeout,
        input.deadline,
        clock.now + input.deadline,
        input.queue,
        input.rank,
        input.max_attempts,
        input.unique_until_done,
        input.lane IS NOT NULL AND input.scheduled_at > clock.now,
        input.kind,
        input.lane,
        input.idempotency_key,
        input.moved_from,
        input.metadata,
        input.payload,
        input.event
    FROM input
    CROSS JOIN clock
    WHERE
        (input.idempotency_key IS NULL AND input.id IN (SELECT id FROM admitted))
        OR input.id IN (SELECT job FROM keyed)
    ORDER BY input.id
    ON CONFLICT (id) DO NOTHING
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
)
SELECT body.id
FROM body
