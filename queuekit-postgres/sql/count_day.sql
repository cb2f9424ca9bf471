-- Takes the jobs of a day of history off the counters before the day is dropped, and removes their
-- reports and checkpoints. The table name `day` is replaced by the partition's.
-- Parameters: none.
-- Result: one row: how many jobs it holds.
-- Index: reports_pkey, checkpoints_pkey.
-- Locks: the reports and checkpoints it removes.
WITH reported AS (
    DELETE FROM queuekit.reports
    WHERE reports.job IN (SELECT day.id FROM queuekit.day AS day)
),
kept AS (
    DELETE FROM queuekit.checkpoints
    WHERE checkpoints.job IN (SELECT day.id FROM queuekit.day AS day)
),
counted AS (
    INSERT INTO queuekit.deltas (queue, completed, completed_size, cancelled, cancelled_size)
    SELECT
        day.queue,
        - count(*) FILTER (WHERE day.state = 2),
        - coalesce(sum(length(day.payload) + coalesce(length(day.result), 0))
            FILTER (WHERE day.state = 2), 0),
        - count(*) FILTER (WHERE day.state = 4),
        - coalesce(sum(length(day.payload)) FILTER (WHERE day.state = 4), 0)
    FROM queuekit.day AS day
    GROUP BY day.queue
)
SELECT count(*) AS jobs
FROM queuekit.day AS day
