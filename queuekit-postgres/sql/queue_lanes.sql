-- Writes the jobs of a queue anew for its order and what waiting jobs of a key do.
-- Parameters: $1 queue; $2 whether it is fair; $3 whether waiting jobs are passed.
-- Result: none.
-- Index: ready_order, jobs_lane, jobs_later.
-- Locks: the bodies it changes. The caller holds the queue's lock.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
plain AS (
    SELECT ready.id
    FROM generate_series(0, 31) AS level (rank)
    JOIN queuekit.ready
        ON ready.queue = $1::int AND ready.rank = level.rank::smallint AND ready.slot IS NULL
),
keyed AS (
    SELECT jobs.id
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.lane IS NOT NULL AND NOT jobs.later AND jobs.lane > ''
    UNION ALL
    SELECT jobs.id
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.later
),
changed AS (
    UPDATE queuekit.jobs
    SET lane = CASE WHEN $2::boolean THEN '' END
    FROM plain
    WHERE jobs.id = plain.id AND jobs.lane IS DISTINCT FROM CASE WHEN $2::boolean THEN '' END
)
UPDATE queuekit.jobs
SET later = NOT jobs.later
FROM keyed
CROSS JOIN clock
WHERE
    jobs.id = keyed.id
    AND jobs.later <> ($3::boolean AND jobs.scheduled_at > clock.now)
