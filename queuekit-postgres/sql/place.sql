-- Looks at partition keys of a queue, and puts the jobs of each that may be leased now into ready.
-- Where a key runs one job at a time and no waiting job is passed, place_heads.sql does it for
-- less.
--
-- Of each key, as many jobs are placed as it has free leases, in the order of their sequence. Where
-- waiting jobs block, the first that is not due is the last of them. In a strict queue a job is
-- placed at the latest place of the jobs before it in its key, because they go before it; in a fair
-- queue it has a turn, and is placed only once it is due.
-- Parameters: $1 queue; $2 most entries of the agenda; $3 the time after which there may be
-- entries.
-- Result: how many entries were looked at; now; and a row per rank in which jobs were placed, with
-- the first of their places; at least one row.
-- Index: agenda_order, ready_lane, running_slot, dead_holds, jobs_lane, jobs_later, jobs_coming,
-- deltas_turn.
-- Locks: the rows of agenda and ready it removes. The caller holds the queue's lock.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
policy AS MATERIALIZED (
    SELECT
        queues.per_key, queues.skips_waiting, queues.holds_dead, queues.is_fair,
        CASE WHEN queues.is_fair THEN greatest(
            coalesce((SELECT counts.turn FROM queuekit.counts WHERE counts.queue = $1::int), 0),
            coalesce((
                SELECT deltas.turn
                FROM queuekit.deltas
                WHERE deltas.queue = $1::int AND deltas.turn IS NOT NULL
                ORDER BY deltas.turn DESC
                LIMIT 1
            ), 0)
        ) END AS turn
    FROM queuekit.queues
    WHERE queues.id = $1::int
),
entry AS MATERIALIZED (
    SELECT due.spot, due.lane
    FROM clock
    CROSS JOIN LATERAL (
        SELECT agenda.ctid AS spot, agenda.lane
        FROM queuekit.agenda
        WHERE agenda.queue = $1::int AND agenda.at <= clock.now AND agenda.at > $3::bigint
        ORDER BY agenda.at
        LIMIT $2::int
    ) AS due
),
looked_at AS (
    DELETE FROM queuekit.agenda
    WHERE agenda.ctid = ANY (ARRAY(SELECT entry.spot FROM entry))
),
lane AS MATERIALIZED (
    SELECT DISTINCT entry.lane
    FROM entry
),
unplaced AS (
    -- One look-up per key: with a join the planner may compare every key with every job.
    DELETE FROM queuekit.ready
    WHERE ready.ctid = ANY (ARRAY(
        SELECT old.spot
        FROM lane
        CROSS JOIN LATERAL (
            SELECT ready.ctid AS spot
            FROM queuekit.ready
            WHERE
                ready.queue = $1::int AND ready.lane = lane.lane AND ready.slot IS NOT NULL
            OFFSET 0
        ) AS old
    ))
),
free AS MATERIALIZED (
    SELECT
        lane.lane,
        -- If there are more than these, the rest is looked at once these are leased.
        least(policy.per_key - leased.jobs, 32) AS leases,
        ARRAY(
            SELECT slot.slot
            FROM generate_series(0, least(policy.per_key, leased.jobs + 32) - 1) AS slot (slot)
            WHERE slot.slot <> ALL (leased.slots)
            ORDER BY slot.slot
        ) AS slots
    FROM lane
    CROSS JOIN policy
    CROSS JOIN LATERAL (
        SELECT count(*)::int AS jobs, coalesce(array_agg(running.slot), '{}') AS slots
        FROM queuekit.running
        WHERE running.queue = $1::int AND running.lane = lane.lane AND running.slot IS NOT NULL
    ) AS leased
    WHERE
        leased.jobs < policy.per_key
        AND NOT (policy.holds_dead AND EXISTS (
            SELECT
            FROM queuekit.dead
            WHERE dead.queue = $1::int AND dead.lane = lane.lane AND dead.holds
            OFFSET 0
        ))
),
waiting AS MATERIALIZED (
    SELECT
        free.lane, free.leases, free.slots, job.id, job.rank, job.scheduled_at, job.seq,
        job.scheduled_at <= clock.now AS is_due,
        row_number() OVER key AS n,
        bool_and(job.scheduled_at <= clock.now) OVER before AS is_reachable,
        max(ARRAY[job.rank, job.scheduled_at, job.seq]) OVER key AS latest
    FROM free
    CROSS JOIN clock
    CROSS JOIN policy
    CROSS JOIN LATERAL (
        SELECT first.id, first.rank::bigint AS rank, first.scheduled_at, first.seq
        FROM (
            (
                SELECT jobs.id, jobs.rank, jobs.scheduled_at, jobs.seq
                FROM queuekit.jobs
                WHERE
                    jobs.queue = $1::int AND jobs.lane = free.lane
                    AND jobs.indexed AND NOT jobs.later
                    AND (NOT policy.skips_waiting OR jobs.scheduled_at <= clock.now)
                    -- One look-up per job: with a join the planner may compare every job with every
                    -- lease.
                    AND NOT EXISTS (
                        SELECT FROM queuekit.running WHERE running.id = jobs.id OFFSET 0
                    )
                ORDER BY jobs.seq
                LIMIT free.leases
            )
            UNION ALL
            (
                SELECT jobs.id, jobs.rank, jobs.scheduled_at, jobs.seq
                FROM queuekit.jobs
                WHERE
                    jobs.queue = $1::int AND jobs.lane = free.lane
                    AND jobs.indexed AND jobs.later
                    AND NOT policy.skips_waiting
                    AND NOT EXISTS (
                        SELECT FROM queuekit.running WHERE running.id = jobs.id OFFSET 0
                    )
                ORDER BY jobs.seq
                LIMIT free.leases
            )
        ) AS first
        ORDER BY first.seq
        LIMIT free.leases
    ) AS job
    WINDOW
        key AS (PARTITION BY free.lane ORDER BY job.seq),
        before AS (
            PARTITION BY free.lane ORDER BY job.seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, slot, lane)
    SELECT
        waiting.id,
        CASE
            WHEN policy.is_fair THEN policy.turn + waiting.n
            WHEN waiting.is_due THEN waiting.latest[2]
            ELSE waiting.scheduled_at
        END,
        CASE
            WHEN policy.is_fair OR NOT waiting.is_due THEN waiting.seq
            ELSE waiting.latest[3] + waiting.n - 1
        END,
        $1::int,
        CASE
            WHEN policy.is_fair THEN -1
            WHEN waiting.is_due THEN waiting.latest[1]
            ELSE waiting.rank
        END,
        waiting.slots[waiting.n],
        waiting.lane
    FROM waiting
    CROSS JOIN policy
    WHERE
        coalesce(waiting.is_reachable, true)
        AND (waiting.is_due OR NOT policy.is_fair)
    RETURNING ready.rank, ready.at, ready.seq
),
coming AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT waiting.scheduled_at, $1::int, waiting.lane
    FROM waiting
    CROSS JOIN policy
    WHERE
        NOT waiting.is_due AND coalesce(waiting.is_reachable, true)
        AND (policy.is_fair OR waiting.n < waiting.leases)
    UNION ALL
    SELECT first.scheduled_at, $1::int, free.lane
    FROM free
    CROSS JOIN policy
    CROSS JOIN LATERAL (
        SELECT jobs.scheduled_at
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = free.lane
            AND jobs.indexed AND jobs.later
        ORDER BY jobs.scheduled_at
        LIMIT 1
    ) AS first
    WHERE policy.skips_waiting
)
SELECT
    (SELECT count(*) FROM entry) AS entries, clock.now, first.rank, first.at, first.seq
FROM clock
LEFT JOIN (
    SELECT DISTINCT ON (placed.rank) placed.rank, placed.at, placed.seq
    FROM placed
    ORDER BY placed.rank, placed.at, placed.seq
) AS first ON true
