-- Removes jobs of any state, their reports and checkpoints.
-- Parameters: $1 ids.
-- Result: how many.
-- Index: running_pkey, jobs_pkey, ended_pkey, dead_pkey, reports_pkey,
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
stored AS (
    DELETE FROM queuekit.jobs
    WHERE jobs.id = ANY ($1::uuid[])
    RETURNING jobs.id, jobs.queue, jobs.lane
),
ended AS (
    DELETE FROM queuekit.ended
    WHERE ended.id = ANY ($1::uuid[])
    RETURNING ended.id, ended.queue, ended.state, ended.size::bigint AS size
),
died AS (
    DELETE FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
    RETURNING dead.id, dead.queue, dead.lane, length(dead.payload)::bigint AS size
),
body AS MATERIALIZED (
    SELECT
        stored.id, stored.queue, stored.lane, 0::bigint AS size,
        CASE WHEN stored.id IN (SELECT lease.id FROM lease) THEN 1 ELSE 0 END AS state
    FROM stored
    WHERE stored.id NOT IN (SELECT ended.id FROM ended)
    UNION ALL
    SELECT ended.id, ended.queue, NULL, ended.size, ended.state
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
