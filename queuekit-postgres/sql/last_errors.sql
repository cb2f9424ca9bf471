-- The last errors of jobs that wait or are dead.
-- Parameters: $1 ids.
-- Result: id and text of each of them that has failed, in no order.
-- Index: jobs_pkey, ended_pkey, dead_pkey.
-- Locks: nothing.
SELECT job.id, last.error
FROM (
    SELECT jobs.id, jobs.errors
    FROM queuekit.jobs
    WHERE
        jobs.id = ANY ($1::uuid[])
        AND NOT EXISTS (SELECT FROM queuekit.ended WHERE ended.id = jobs.id OFFSET 0)
    UNION ALL
    SELECT dead.id, dead.errors FROM queuekit.dead WHERE dead.id = ANY ($1::uuid[])
) AS job
CROSS JOIN LATERAL (
    SELECT entry.run_end ->> 'error' AS error
    FROM jsonb_array_elements(job.errors) WITH ORDINALITY AS entry (run_end, place)
    WHERE entry.run_end ? 'error'
    ORDER BY entry.place DESC
    LIMIT 1
) AS last
