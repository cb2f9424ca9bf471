-- Completes jobs.
-- Parameters: $1 ids, sorted.
-- Result: how many.
-- Index: jobs_pkey; `+ 0` keeps the planner from jobs_running, which it takes for empty.
-- Locks: the jobs it completes.
WITH ended AS (
    UPDATE jobs
    SET state = 2, finished_at = clock.now, lease_expires_at = NULL
    FROM unnest($1::uuid[]) AS input (id)
    CROSS JOIN (
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now OFFSET 0
    ) AS clock
    WHERE jobs.id = input.id AND jobs.state + 0 = 1
    RETURNING jobs.id
)
SELECT count(*)
FROM ended
