-- Stores the events whose ids and idempotency keys are free, with their deliveries.
-- Parameters: $1..$12 a column each, a row per delivery, sorted by id: id; queue; place of its
-- event in the call; kind; rank; delay in ms; max_attempts; timeout in ms; metadata; payload;
-- partition key; whether its payload is that of its event. $2..$9 and $12 may be shortened as in
-- enqueue.sql. $13..$18 a row per event, in the order of the call: id; kind; partition key;
-- idempotency key; metadata; data; no id occurs twice, nor does a key of one kind. $19 the queues,
-- each once; $20 the schema's number; $21 the version of the subscriptions by which deliveries were
-- found; $22 whether to store all or nothing; $23 whether to look for the ids among dead
-- deliveries too.
-- Result: one row: whether the version is still current; whether all queues exist (unless both are
-- true, nothing is stored); how many events were stored; if not all, their ids.
-- Index: queues_pkey, event_ids_pkey, event_ids_key, jobs_pkey, dead_pkey.
-- Locks: the subscriptions, shared; apart from that, only those who emit the same id or key wait.
WITH clock AS MATERIALIZED (
    SELECT
        queuekit.event_version($20::int) = $21::bigint AS is_current,
        queuekit.now_ms() AS now, nextval('queuekit.places') AS base
),
known AS MATERIALIZED (
    SELECT queues.id
    FROM queuekit.queues
    WHERE queues.id = ANY ($19::int[]) AND queues.removed_by IS NULL
),
input AS MATERIALIZED (
    SELECT
        event.*,
        NOT EXISTS (SELECT FROM queuekit.event_ids AS taken WHERE taken.id = event.id OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM queuekit.event_ids AS taken
            WHERE taken.kind = event.kind AND taken.idempotency_key = event.idempotency_key
            OFFSET 0
        ) AS is_free
    FROM unnest($13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::bytea[])
        WITH ORDINALITY
        AS event (id, kind, partition_key, idempotency_key, metadata, data, place)
),
gate AS MATERIALIZED (
    SELECT
        clock.is_current,
        (SELECT count(*) FROM known) = cardinality($19::int[]) AS are_known,
        NOT $22::boolean OR (SELECT bool_and(input.is_free) FROM input) AS is_open
    FROM clock
),
numbered AS MATERIALIZED (
    -- A refused event takes no number, because retention counts events by their numbers.
    SELECT
        input.*,
        CASE
            WHEN gate.is_current AND gate.are_known AND gate.is_open AND input.is_free THEN
                ((clock.now / 86400000) << 44) + nextval('queuekit.event_numbers')
        END AS seq
    FROM clock
    CROSS JOIN gate
    CROSS JOIN input
    ORDER BY input.place
),
kept AS (
    INSERT INTO queuekit.event_ids (id, seq, kind, idempotency_key)
    SELECT
        numbered.id, numbered.seq,
        CASE WHEN numbered.idempotency_key IS NOT NULL THEN numbered.kind END,
        numbered.idempotency_key
    FROM numbered
    WHERE numbered.seq IS NOT NULL
    -- All calls use the same order, so that no two wait for each other.
    ORDER BY numbered.kind, numbered.idempotency_key, numbered.id
    ON CONFLICT DO NOTHING
    RETURNING id
),
place AS MATERIALIZED (
    SELECT
        array_agg(
            -- Looked up, not joined: for a join the planner may compare every event with every
            -- other.
            CASE
                WHEN (numbered.id IN (SELECT kept.id FROM kept)) IS TRUE THEN numbered.seq
                ELSE 0
            END
            ORDER BY numbered.place
        ) AS seqs
    FROM numbered
),
stored AS (
    INSERT INTO queuekit.events (
        seq, emitted_at, id, kind, partition_key, idempotency_key, metadata, data
    )
    SELECT
        numbered.seq, clock.now, numbered.id, numbered.kind, numbered.partition_key,
        numbered.idempotency_key, numbered.metadata, numbered.data
    FROM numbered
    CROSS JOIN clock
    WHERE (numbered.id IN (SELECT kept.id FROM kept)) IS TRUE
),
body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts,
        unique_until_done, later, kind, lane, metadata, payload, event
    )
    SELECT
        input.id,
        clock.base + 1024 * input.place,
        clock.now + coalesce(input.delay, ($6::bigint[])[1]),
        clock.now,
        coalesce(input.timeout, ($8::bigint[])[1]),
        known.id,
        coalesce(input.rank, ($5::smallint[])[1]),
        coalesce(input.max_attempts, ($7::smallint[])[1]),
        false,
        input.partition_key IS NOT NULL AND coalesce(input.delay, ($6::bigint[])[1]) > 0,
        coalesce(input.kind, ($4::text[])[1]),
        input.partition_key,
        input.metadata,
        input.payload,
        CASE
            WHEN coalesce(input.refers, ($12::boolean[])[1]) THEN place.seqs[input.place + 1]
        END
    FROM clock
    CROSS JOIN place
    CROSS JOIN unnest(
        $1::uuid[], $2::int[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[],
        $7::smallint[], $8::bigint[], $9::text[], $10::bytea[], $11::text[], $12::boolean[]
    ) AS input (
        id, queue, place, kind, rank, delay, max_attempts, timeout, metadata, payload,
        partition_key, refers
    )
    JOIN known ON known.id = coalesce(input.queue, ($2::int[])[1])
    WHERE
        place.seqs[input.place + 1] > 0
        AND NOT (
            $23::boolean
            AND EXISTS (SELECT FROM queuekit.dead WHERE dead.id = input.id OFFSET 0)
        )
    -- A delivery that has outlived an earlier event of the same id is left as it is.
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
),
total AS (
    SELECT count(*) AS stored
    FROM kept
)
SELECT
    gate.is_current, gate.are_known, total.stored,
    CASE
        WHEN total.stored < cardinality($13::uuid[]) THEN ARRAY(SELECT kept.id FROM kept)
    END AS ids
FROM gate
CROSS JOIN total
