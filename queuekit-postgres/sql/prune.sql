-- Removes ended jobs whose time is over, if they have not come back meanwhile.
-- Parameters: a row per job, sorted by id: $1 id; $2 when it ended.
-- Result: one row: how many were removed.
-- Index: ended_pkey, jobs_pkey, dead_pkey, reports_pkey, checkpoints_pkey.
-- Locks: the rows it removes.
WITH ended AS (
    DELETE FROM queuekit.ended
    USING unnest($1::uuid[], $2::bigint[]) AS input (id, finished_at)
    WHERE ended.id = input.id AND ended.finished_at = input.finished_at
    RETURNING
        ended.id, ended.queue, NULL::text AS lane, ended.state, ended.size::bigint AS size
),
emptied AS (
    DELETE FROM queuekit.jobs
    WHERE jobs.id = ANY (ARRAY(SELECT ended.id FROM ended))
),
died AS (
    DELETE FROM queuekit.dead
    USING unnest($1::uuid[], $2::bigint[]) AS input (id, finished_at)
    WHERE dead.id = input.id AND dead.finished_at = input.finished_at
    RETURNING dead.id, dead.queue, dead.lane, 3::smallint, length(dead.payload)::bigint
),
body AS MATERIALIZED (
    SELECT ended.* FROM ended
    UNION ALL
    SELECT died.* FROM died
),
reported AS (
    DELETE FROM queuekit.reports
    WHERE reports.job IN (SELECT body.id FROM body)
),
kept AS (
    DELETE FROM queuekit.checkpoints
    WHERE checkpoints.job IN (SELECT body.id FROM body)
),
visited AS (
    -- A dead job may have held its key, so its key is put on the agenda.
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT lane.now, lane.queue, lane.lane
    FROM (
        SELECT DISTINCT queuekit.now_ms() AS now, body.queue, body.lane
        FROM body
        WHERE body.lane > '' AND body.state = 3
    ) AS lane
),
counted AS (
    INSERT INTO queuekit.deltas (
        queue, completed, completed_size, dead, dead_size, cancelled, cancelled_size
    )
    SELECT
        body.queue,
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
