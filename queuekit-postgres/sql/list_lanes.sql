-- Waiting jobs of a queue by partition key and sequence, after a place; if wanted, those without a
-- key come first, as if they had the key ''.
-- Parameters: $1 queue; $2 key, $3 sequence of the place; $4 most; $5 whether jobs without a key
-- are wanted.
-- Result: id, key, sequence, in order; some of them may run.
-- Index: ready_plain, jobs_lane, jobs_later.
-- Locks: nothing.
SELECT job.id, job.lane, job.seq
FROM (
    (
        SELECT ready.id, '' AS lane, ready.seq
        FROM queuekit.ready
        WHERE
            $5::boolean AND $2::text = ''
            AND ready.queue = $1::int AND coalesce(ready.slot, -1) = -1
            AND ready.seq > $3::bigint
        ORDER BY ready.seq
        LIMIT $4::int
    )
    UNION ALL
    (
        SELECT jobs.id, jobs.lane, jobs.seq
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.indexed AND jobs.lane > '' AND NOT jobs.later
            AND (jobs.lane, jobs.seq) > ($2::text, $3::bigint)
        ORDER BY jobs.lane, jobs.seq
        LIMIT $4::int
    )
    UNION ALL
    (
        SELECT jobs.id, jobs.lane, jobs.seq
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.indexed AND jobs.later
            AND (jobs.lane, jobs.seq) > ($2::text, $3::bigint)
        ORDER BY jobs.lane, jobs.seq
        LIMIT $4::int
    )
) AS job
ORDER BY job.lane COLLATE "C", job.seq
LIMIT $4::int
