-- Whether no unfinished job of its partition key comes before a job.
-- Parameters: $1 queue; $2 partition key; $3 sequence.
-- Result: one boolean.
-- Index: jobs_lane, jobs_later.
-- Locks: nothing.
SELECT
    NOT EXISTS (
        SELECT
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = $2::text AND jobs.seq < $3::bigint
            AND jobs.indexed AND NOT jobs.later
    )
    AND NOT EXISTS (
        SELECT
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.lane = $2::text AND jobs.seq < $3::bigint
            AND jobs.indexed AND jobs.later
    ) AS is_head
