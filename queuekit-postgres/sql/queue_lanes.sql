-- Writes the jobs of a queue anew for its order and what waiting jobs of a key do.
-- Parameters: $1 queue; $2 whether it is fair.
-- Result: none.
-- Index: ready_order, jobs_coming.
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
changed AS (
    UPDATE queuekit.jobs
    SET lane = CASE WHEN $2::boolean THEN '' END
    FROM plain
    WHERE jobs.id = plain.id AND jobs.lane IS DISTINCT FROM CASE WHEN $2::boolean THEN '' END
)
-- Where waiting jobs block, nobody had to look whether the time of the others has come.
UPDATE queuekit.jobs
SET later = false
FROM clock
WHERE jobs.queue = $1::int AND jobs.later AND jobs.scheduled_at <= clock.now
