-- Leases the next jobs of queues, each a prefix of its serving order.
-- Parameters: $1 queue names in the order they are served; $2 most jobs of each; $3 most jobs in
-- all; $4 nonce; $5 ttl in ms; $6 worker; $7 whether leases that ran out are passed over; $8
-- whether the caller holds the locks of the queues with partition keys. $9..$12 hints, a row
-- each: queue, rank, and the place after which to look; $13 for each queue, the time after which
-- leases may have run out. $14 the bytes of the leases that the call has already; $15 most bytes.
-- Result: the leases in serving order; for deliveries, with the place of the event if the event has
-- the payload. There is at least one row, which also has: now; overdue: leases ran out, and nothing
-- was leased; keyed: a queue has partition keys, and nothing was leased; dead_rows: versions of
-- rows that vacuum has not removed yet; next_due_in: if fewer than $3 were leased, in how many ms
-- the next is due, a lease runs out or a pause ends; is_full: a job did not fit into the bytes. Each lease has
-- total: the bytes of those up to it.
-- Index: queues_name_key, ready_order, running_expiry, jobs_pkey.
-- Locks: the rows of ready it takes; passes over what others hold.
WITH clock AS MATERIALIZED (
    SELECT
        queuekit.now_ms() AS now,
        greatest(
            pg_stat_get_dead_tuples('queuekit.ready'::regclass),
            pg_stat_get_dead_tuples('queuekit.running'::regclass)
        ) AS dead_rows
),
named AS MATERIALIZED (
    SELECT
        asked.place, asked.most, asked.after, queues.id, queues.keyed, queues.per_key,
        queues.paused_until
    FROM unnest($1::text[], $2::int[], $13::bigint[])
        WITH ORDINALITY AS asked (name, most, after, place)
    JOIN queuekit.queues ON queues.name = asked.name
),
asked AS MATERIALIZED (
    SELECT named.place, named.most, named.after, named.id, named.keyed, named.per_key
    FROM clock
    CROSS JOIN named
    WHERE named.paused_until <= clock.now
    ORDER BY named.place
),
overdue AS MATERIALIZED (
    SELECT
    FROM clock
    CROSS JOIN asked
    CROSS JOIN LATERAL (
        SELECT
        FROM queuekit.running
        WHERE
            running.queue = asked.id AND running.lease_expires_at <= clock.now
            AND running.lease_expires_at > asked.after
        ORDER BY running.lease_expires_at
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
    WHERE NOT $7::boolean
    LIMIT 1
),
next AS MATERIALIZED (
    SELECT asked.place, asked.per_key, spot.*
    FROM clock
    CROSS JOIN asked
    CROSS JOIN LATERAL (
        SELECT first.*
        -- One range of the index for each priority, so that future jobs are not read.
        FROM generate_series(0, 31) AS level (rank)
        LEFT JOIN unnest($9::int[], $10::smallint[], $11::bigint[], $12::bigint[])
            AS hint (queue, rank, at, seq)
            ON hint.queue = asked.id AND hint.rank = level.rank
        CROSS JOIN LATERAL (
            SELECT
                ready.ctid AS spot, ready.id, ready.queue, ready.rank, ready.at, ready.seq,
                ready.slot, ready.lane
            FROM queuekit.ready
            WHERE
                ready.queue = asked.id
                AND ready.rank = level.rank::smallint
                AND ready.at <= clock.now
                AND (ready.at, ready.seq)
                > (coalesce(hint.at, -9223372036854775808), coalesce(hint.seq, 0))
            ORDER BY ready.at, ready.seq
            LIMIT asked.most
            FOR UPDATE SKIP LOCKED
        ) AS first
        LIMIT asked.most
    ) AS spot
    WHERE
        ($7::boolean OR NOT EXISTS (SELECT FROM overdue))
        AND ($8::boolean OR NOT EXISTS (SELECT FROM asked WHERE asked.keyed))
    LIMIT $3::int
),
body AS MATERIALIZED (
    -- The rows of ready are locked, so each of these jobs exists.
    SELECT whole.*
    FROM (
        SELECT
            next.place, next.per_key, next.queue, next.rank AS served_rank, next.at,
            next.seq AS served_seq, next.slot, next.lane, next.spot, job.*,
            sum(job.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
        FROM next
        CROSS JOIN LATERAL (
            SELECT
                jobs.id, jobs.seq, jobs.rank, jobs.attempts, jobs.max_attempts, jobs.releases,
                jobs.lease_seq, jobs.scheduled_at, jobs.created_at, jobs.timeout_ms,
                jobs.deadline_at, jobs.kind, jobs.metadata, jobs.payload, jobs.event,
                jobs.lane IS NULL AND jobs.attempts = 0 AND jobs.event IS NULL
                AND jobs.idempotency_key IS NULL AS plain,
                octet_length(jobs.payload) + coalesce(octet_length(jobs.metadata), 0)
                + CASE WHEN jobs.event IS NULL THEN 0
                    ELSE coalesce(queuekit.event_bytes(jobs.event), 0) END AS bytes
            FROM queuekit.jobs
            -- One look-up per job (OFFSET 0), whatever the planner expects of the tables.
            WHERE jobs.id = next.id
            OFFSET 0
        ) AS job
    ) AS whole
    WHERE
        $14::bigint + whole.total <= $15::bigint
        -- The first fits whatever its size.
        OR $14::bigint + whole.total = whole.bytes
),
taken AS (
    DELETE FROM queuekit.ready
    -- By its place, which a locked row keeps.
    WHERE ready.ctid = ANY (ARRAY(SELECT body.spot FROM body))
),
granted AS (
    INSERT INTO queuekit.running (
        id, nonce, lease_expires_at, seq, lease_seq, started_at, queue, attempts, slot, worker,
        lane, plain, size
    )
    SELECT
        body.id, $4::uuid, clock.now + $5::bigint, body.seq, body.lease_seq + 1, clock.now,
        body.queue, body.attempts + 1, body.slot, $6::text, body.lane,
        body.plain, octet_length(body.payload)
    FROM body
    CROSS JOIN clock
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    -- Only then may the next job of a key start while this one runs.
    WHERE body.slot IS NOT NULL AND body.per_key > 1
),
counted AS (
    INSERT INTO queuekit.deltas (queue, pending, running)
    SELECT body.queue, - count(*), count(*)
    FROM body
    GROUP BY body.queue
),
due AS MATERIALIZED (
    SELECT min(event.at) - clock.now AS next_in
    FROM clock
    CROSS JOIN asked
    CROSS JOIN LATERAL (
        SELECT first.at
        FROM generate_series(0, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT ready.at
            FROM queuekit.ready
            WHERE
                ready.queue = asked.id
                AND ready.rank = level.rank::smallint
                AND ready.at > clock.now
            ORDER BY ready.at, ready.seq
            LIMIT 1
        ) AS first
        UNION ALL
        (
            SELECT running.lease_expires_at
            FROM queuekit.running
            WHERE running.queue = asked.id AND running.lease_expires_at > asked.after
            ORDER BY running.lease_expires_at
            LIMIT 1
        )
    ) AS event
    WHERE (SELECT count(*) FROM next) < $3::int
    GROUP BY clock.now
),
resumed AS MATERIALIZED (
    SELECT min(named.paused_until) - clock.now AS next_in
    FROM clock
    CROSS JOIN named
    -- A pause without an end has the largest number.
    WHERE named.paused_until > clock.now AND named.paused_until < 9223372036854775807
    GROUP BY clock.now
)
SELECT
    clock.now,
    EXISTS (SELECT FROM overdue) AS overdue,
    NOT $8::boolean AND EXISTS (SELECT FROM asked WHERE asked.keyed) AS keyed,
    clock.dead_rows,
    body.id, body.queue, body.served_rank, body.at, body.served_seq, body.rank, body.attempts,
    body.max_attempts, body.releases, body.lease_seq, body.scheduled_at, body.created_at,
    body.timeout_ms, body.deadline_at, body.kind, body.lane, body.metadata, body.payload,
    body.place,
    least((SELECT due.next_in FROM due), (SELECT resumed.next_in FROM resumed)) AS next_due_in,
    body.event,
    (SELECT count(*) FROM next) > (SELECT count(*) FROM body) AS is_full, body.total
FROM clock
LEFT JOIN body ON true
ORDER BY body.place, body.served_rank, body.at, body.served_seq
