-- Leases the next jobs of a fair queue, by turn; jobs without a partition key share one turn.
-- Parameters: $1 queue; $2 most jobs; $3 nonce; $4 ttl in ms; $5 worker; $6 the bytes of the leases
-- that the call has already; $7 most bytes.
-- Result: as reserve.sql, without the columns about hints.
-- Index: counts_pkey, deltas_turn, ready_order, jobs_pkey.
-- Locks: the rows of ready it takes. The caller holds the queue's lock.
WITH clock AS MATERIALIZED (
    SELECT
        queuekit.now_ms() AS now,
        greatest(
            coalesce((SELECT counts.turn FROM queuekit.counts WHERE counts.queue = $1::int), 0),
            coalesce((
                SELECT deltas.turn
                FROM queuekit.deltas
                WHERE deltas.queue = $1::int AND deltas.turn IS NOT NULL
                ORDER BY deltas.turn DESC
                LIMIT 1
            ), 0)
        ) AS turn
),
keyed AS MATERIALIZED (
    SELECT ready.ctid AS spot, ready.id, ready.at AS turn, ready.seq, ready.slot, ready.lane
    FROM queuekit.ready
    WHERE ready.queue = $1::int AND ready.rank = -1
    ORDER BY ready.at, ready.seq
    LIMIT $2::int
),
plain AS MATERIALIZED (
    SELECT first.spot, first.id, clock.turn + row_number() OVER () AS turn
    FROM clock
    CROSS JOIN LATERAL (
        SELECT due.spot, due.id
        FROM generate_series(0, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT ready.ctid AS spot, ready.id
            FROM queuekit.ready
            WHERE
                ready.queue = $1::int
                AND ready.rank = level.rank::smallint
                AND ready.at <= clock.now
            ORDER BY ready.at, ready.seq
            LIMIT $2::int
        ) AS due
        LIMIT $2::int
    ) AS first
),
next AS MATERIALIZED (
    SELECT either.*, row_number() OVER (ORDER BY either.turn, either.kind, either.seq) AS place
    FROM (
        SELECT keyed.spot, keyed.id, keyed.turn, keyed.seq, keyed.slot, keyed.lane, 1 AS kind
        FROM keyed
        UNION ALL
        -- In a turn, jobs without a key go first: their turn begins anew with every call.
        SELECT plain.spot, plain.id, plain.turn, 0, NULL, NULL, 0
        FROM plain
    ) AS either
    ORDER BY either.turn, either.kind, either.seq
    LIMIT $2::int
),
fit AS MATERIALIZED (
    SELECT whole.*
    FROM (
        SELECT
            next.place, next.spot, next.turn, next.slot, next.lane, job.*,
            sum(job.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
        FROM next
        CROSS JOIN LATERAL (
            SELECT
                jobs.id, jobs.seq, jobs.queue, jobs.rank, jobs.attempts, jobs.max_attempts,
                jobs.releases, jobs.lease_seq, jobs.scheduled_at, jobs.created_at,
                jobs.timeout_ms, jobs.deadline_at, jobs.kind, jobs.metadata, jobs.payload,
                jobs.event,
                jobs.lane IS NULL AND jobs.attempts = 0 AND jobs.event IS NULL
                AND jobs.idempotency_key IS NULL AS plain,
                octet_length(jobs.payload) + coalesce(octet_length(jobs.metadata), 0)
                + CASE WHEN jobs.event IS NULL THEN 0
                    ELSE coalesce(queuekit.event_bytes(jobs.event), 0) END AS bytes
            FROM queuekit.jobs
            WHERE jobs.id = next.id
            OFFSET 0
        ) AS job
    ) AS whole
    WHERE
        $6::bigint + whole.total <= $7::bigint
        -- The first fits whatever its size.
        OR $6::bigint + whole.total = whole.bytes
),
taken AS (
    DELETE FROM queuekit.ready
    WHERE ready.ctid = ANY (ARRAY(SELECT fit.spot FROM fit))
    RETURNING ready.id
),
body AS MATERIALIZED (
    -- Another call may have taken some of them meanwhile.
    SELECT fit.* FROM fit WHERE fit.id IN (SELECT taken.id FROM taken)
),
granted AS (
    INSERT INTO queuekit.running (
        id, nonce, lease_expires_at, seq, lease_seq, started_at, queue, attempts, slot, worker,
        lane, plain, size
    )
    SELECT
        body.id, $3::uuid, clock.now + $4::bigint, body.seq, body.lease_seq + 1, clock.now,
        body.queue, body.attempts + 1, body.slot, $5::text, body.lane,
        body.plain, octet_length(body.payload)
    FROM body
    CROSS JOIN clock
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    JOIN queuekit.queues ON queues.id = body.queue
    WHERE body.slot IS NOT NULL AND queues.per_key > 1
),
counted AS (
    INSERT INTO queuekit.deltas (queue, pending, running, turn)
    SELECT body.queue, - count(*), count(*), greatest(max(body.turn), max(clock.turn))
    FROM body
    CROSS JOIN clock
    GROUP BY body.queue
)
SELECT
    clock.now,
    false AS overdue,
    false AS keyed,
    0::bigint AS dead_rows,
    body.id, body.queue, (-1)::smallint AS served_rank, body.turn AS at,
    body.place AS served_seq, body.rank, body.attempts,
    body.max_attempts, body.releases, body.lease_seq, body.scheduled_at, body.created_at,
    body.timeout_ms, body.deadline_at, body.kind, body.lane, body.metadata, body.payload,
    1::bigint AS place, NULL::bigint AS next_due_in, body.event,
    (SELECT count(*) FROM next) > (SELECT count(*) FROM fit) AS is_full, body.total
FROM clock
LEFT JOIN body ON true
ORDER BY body.place
