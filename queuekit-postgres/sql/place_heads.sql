-- Looks at partition keys of a queue where each key runs one job at a time and waiting jobs block.
-- Puts the first job of each key into ready, if none runs. A job that is in ready but no longer the
-- first of its key is taken out: a producer whose transaction began earlier may commit later, and a
-- dead head that held its key may come back.
--
-- In a strict queue a job is placed at its own place, also before it is due; in a fair one it has a
-- turn, and is placed only once it is due. Parameters, result: as place.sql.
-- Index: agenda_order, ready_lane, running_slot, dead_holds, jobs_lane, jobs_later, deltas_turn.
-- One look-up per key (OFFSET 0): with a join the planner may compare every key with every job.
-- Locks: the rows of agenda and ready it removes. The caller holds the queue's lock.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
policy AS MATERIALIZED (
    SELECT
        queues.holds_dead, queues.is_fair,
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
free AS MATERIALIZED (
    SELECT named.lane
    FROM policy
    CROSS JOIN (SELECT DISTINCT entry.lane FROM entry) AS named
    WHERE
        NOT EXISTS (
            SELECT
            FROM queuekit.running
            WHERE
                running.queue = $1::int AND running.lane = named.lane
                AND running.slot IS NOT NULL
            OFFSET 0
        )
        AND NOT (policy.holds_dead AND EXISTS (
            SELECT
            FROM queuekit.dead
            WHERE dead.queue = $1::int AND dead.lane = named.lane AND dead.holds
            OFFSET 0
        ))
),
head AS MATERIALIZED (
    SELECT
        free.lane, job.id, job.rank, job.scheduled_at, job.seq,
        job.scheduled_at <= clock.now AS is_due, standing.stands, standing.others
    FROM clock
    CROSS JOIN free
    CROSS JOIN LATERAL (
        SELECT first.id, first.rank, first.scheduled_at, first.seq
        FROM (
            (
                SELECT jobs.id, jobs.rank, jobs.scheduled_at, jobs.seq
                FROM queuekit.jobs
                WHERE
                    jobs.queue = $1::int AND jobs.lane = free.lane
                    AND jobs.indexed AND NOT jobs.later
                ORDER BY jobs.seq
                LIMIT 1
            )
            UNION ALL
            (
                SELECT jobs.id, jobs.rank, jobs.scheduled_at, jobs.seq
                FROM queuekit.jobs
                WHERE
                    jobs.queue = $1::int AND jobs.lane = free.lane
                    AND jobs.indexed AND jobs.later
                ORDER BY jobs.seq
                LIMIT 1
            )
        ) AS first
        ORDER BY first.seq
        LIMIT 1
    ) AS job
    CROSS JOIN LATERAL (
        SELECT
            coalesce(bool_or(ready.id = job.id), false) AS stands,
            coalesce(array_agg(ready.ctid) FILTER (WHERE ready.id <> job.id), '{}') AS others
        FROM queuekit.ready
        WHERE ready.queue = $1::int AND ready.lane = free.lane AND ready.slot IS NOT NULL
        OFFSET 0
    ) AS standing
),
unplaced AS (
    DELETE FROM queuekit.ready
    WHERE ready.ctid = ANY (ARRAY(SELECT unnest(head.others) FROM head))
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, slot, lane)
    SELECT
        head.id, CASE WHEN policy.is_fair THEN policy.turn + 1 ELSE head.scheduled_at END,
        head.seq, $1::int, CASE WHEN policy.is_fair THEN -1 ELSE head.rank END, 0, head.lane
    FROM head
    CROSS JOIN policy
    WHERE
        (head.is_due OR NOT policy.is_fair)
        AND NOT head.stands
    RETURNING ready.rank, ready.at, ready.seq
),
coming AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT head.scheduled_at, $1::int, head.lane
    FROM head
    CROSS JOIN policy
    WHERE policy.is_fair AND NOT head.is_due
)
SELECT
    (SELECT count(*) FROM entry) AS entries, clock.now, first.rank, first.at, first.seq
FROM clock
LEFT JOIN (
    SELECT DISTINCT ON (placed.rank) placed.rank, placed.at, placed.seq
    FROM placed
    ORDER BY placed.rank, placed.at, placed.seq
) AS first ON true
