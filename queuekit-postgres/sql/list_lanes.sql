-- Waiting jobs of a queue by partition key and sequence, after a place. Those without a key are of
-- the key '', in a fair queue.
-- Parameters: $1 queue; $2 key, $3 sequence of the place; $4 most.
-- Result: id, key, sequence, in order; some of them may run.
-- Index: jobs_lane, jobs_later.
-- Locks: nothing.
SELECT job.id, job.lane, job.seq
FROM (
    (
        SELECT jobs.id, jobs.lane, jobs.seq
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane IS NOT NULL AND NOT jobs.later
            AND (jobs.lane, jobs.seq) > ($2::text, $3::bigint)
        ORDER BY jobs.lane, jobs.seq
        LIMIT $4::int
    )
    UNION ALL
    (
        SELECT jobs.id, jobs.lane, jobs.seq
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.later
            AND (jobs.lane, jobs.seq) > ($2::text, $3::bigint)
        ORDER BY jobs.lane, jobs.seq
        LIMIT $4::int
    )
) AS job
ORDER BY job.lane, job.seq
LIMIT $4::int
