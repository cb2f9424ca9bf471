-- Where waiting jobs are passed: marks the jobs whose time has come, of the keys that place.sql
-- will look at next.
-- Parameters: $1 queue; $2 most entries of the agenda.
-- Result: none.
-- Index: agenda_order, jobs_coming.
-- Locks: the rows it changes. The caller holds the queue's lock.
UPDATE queuekit.jobs
SET later = false
-- Not with IN: the planner may compare every job with every one that is due.
WHERE jobs.id = ANY (ARRAY(
    SELECT job.id
    FROM (
        SELECT DISTINCT due.lane
        FROM (
            SELECT agenda.lane
            FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
            CROSS JOIN LATERAL (
                SELECT agenda.lane
                FROM queuekit.agenda
                WHERE agenda.queue = $1::int AND agenda.at <= clock.now
                ORDER BY agenda.at
                LIMIT $2::int
            ) AS agenda
        ) AS due
    ) AS lane
    CROSS JOIN (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN LATERAL (
        SELECT jobs.id
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = lane.lane AND jobs.indexed
            AND jobs.later AND jobs.scheduled_at <= clock.now
        ORDER BY jobs.scheduled_at
        LIMIT 1000
    ) AS job
))
