-- Takes all jobs with partition keys of a queue out of ready, and puts their keys on its agenda.
-- Parameters: $1 queue.
-- Result: none.
-- Index: ready_lane, jobs_lane, jobs_later.
-- Locks: the rows of ready it removes. The caller holds the queue's lock.
WITH unplaced AS (
    DELETE FROM queuekit.ready
    WHERE ready.queue = $1::int AND ready.slot IS NOT NULL
)
INSERT INTO queuekit.agenda (at, queue, lane)
SELECT queuekit.now_ms(), $1::int, lane.lane
FROM (
    SELECT jobs.lane
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.indexed
        AND jobs.lane IS NOT NULL AND NOT jobs.later AND jobs.lane > ''
    UNION
    SELECT jobs.lane
    FROM queuekit.jobs
    WHERE jobs.queue = $1::int AND jobs.indexed AND jobs.later
) AS lane
