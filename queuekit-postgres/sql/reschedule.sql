-- Changes when waiting jobs are due.
-- Parameters: $1 ids, sorted; $2 delay in ms.
-- Result: none.
-- Index: jobs_pkey.
-- Locks: the bodies. The caller has taken the jobs out of ready.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
body AS (
    UPDATE queuekit.jobs
    SET
        scheduled_at = clock.now + $2::bigint,
        later = coalesce(jobs.lane, '') > '' AND $2::bigint > 0
    FROM clock
    WHERE jobs.id = ANY ($1::uuid[])
    RETURNING jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank, jobs.lane
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, lane)
    SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank, body.lane
    FROM body
    WHERE body.lane IS NULL OR body.lane = ''
)
INSERT INTO queuekit.agenda (at, queue, lane)
SELECT DISTINCT clock.now, body.queue, body.lane
FROM body
CROSS JOIN clock
WHERE body.lane > ''
