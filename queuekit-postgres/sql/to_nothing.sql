-- Removes jobs of any state, their reports and checkpoints.
-- Parameters: $1 ids.
-- Result: how many.
-- Index: running_pkey, jobs_pkey, done_id, dead_pkey, reports_pkey,
-- checkpoints_pkey.
-- Locks: the leases it removes, which the caller has locked, and the bodies.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
lease AS (
    DELETE FROM queuekit.running
    WHERE running.id = ANY ($1::uuid[])
    RETURNING running.id
),
open AS (
    DELETE FROM queuekit.jobs
    WHERE jobs.id = ANY ($1::uuid[])
    RETURNING jobs.id, jobs.queue, jobs.lane, 0::bigint AS size
),
ended AS (
    DELETE FROM queuekit.done
    WHERE done.id = ANY ($1::uuid[])
    RETURNING
        done.id, done.queue, done.lane, done.state,
        (length(done.payload) + coalesce(length(done.result), 0))::bigint AS size
),
died AS (
    DELETE FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
    RETURNING dead.id, dead.queue, dead.lane, length(dead.payload)::bigint AS size
),
body AS MATERIALIZED (
    SELECT
        open.id, open.queue, open.lane, open.size,
        CASE WHEN open.id IN (SELECT lease.id FROM lease) THEN 1 ELSE 0 END AS state
    FROM open
    UNION ALL
    SELECT ended.id, ended.queue, ended.lane, ended.size, ended.state
    FROM ended
    UNION ALL
    SELECT died.id, died.queue, died.lane, died.size, 3
    FROM died
),
reported AS (
    DELETE FROM queuekit.reports
    WHERE reports.job = ANY ($1::uuid[])
),
kept AS (
    DELETE FROM queuekit.checkpoints
    WHERE checkpoints.job = ANY ($1::uuid[])
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    WHERE body.lane > '' AND body.state IN (0, 1, 3)
),
counted AS (
    INSERT INTO queuekit.deltas (
        queue, pending, running, completed, completed_size, dead, dead_size, cancelled,
        cancelled_size
    )
    SELECT
        body.queue,
        - count(*) FILTER (WHERE body.state = 0),
        - count(*) FILTER (WHERE body.state = 1),
        - count(*) FILTER (WHERE body.state = 2),
        - coalesce(sum(body.size) FILTER (WHERE body.state = 2), 0),
        - count(*) FILTER (WHERE body.state = 3),
        - coalesce(sum(body.size) FILTER (WHERE body.state = 3), 0),
        - count(*) FILTER (WHERE body.state = 4),
        - coalesce(sum(body.size) FILTER (WHERE body.state = 4), 0)
    FROM body
    GROUP BY body.queue
)
SELECT count(*) AS removed
FROM body
