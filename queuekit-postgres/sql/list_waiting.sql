-- Waiting jobs of a strict queue in serving order, after a place.
-- Parameters: $1 queue; $2 rank, $3 time, $4 sequence of the place; $5 most.
-- Result: id, rank, time, sequence, in order; some of them may run.
-- Index: ready_order, jobs_keyed.
-- Locks: nothing.
SELECT job.id, job.rank, job.at, job.seq
FROM (
    (
        SELECT ready.id, ready.rank, ready.at, ready.seq
        FROM queuekit.ready
        WHERE
            ready.queue = $1::int AND ready.slot IS NULL AND ready.rank >= 0
            AND (ready.rank, ready.at, ready.seq) > ($2::smallint, $3::bigint, $4::bigint)
        ORDER BY ready.rank, ready.at, ready.seq
        LIMIT $5::int
    )
    UNION ALL
    (
        SELECT jobs.id, jobs.rank, jobs.scheduled_at AS at, jobs.seq
        FROM queuekit.jobs
        WHERE
            jobs.queue = $1::int AND jobs.indexed AND jobs.lane > ''
            AND (jobs.rank, jobs.scheduled_at, jobs.seq) > ($2::smallint, $3::bigint, $4::bigint)
        ORDER BY jobs.rank, jobs.scheduled_at, jobs.seq
        LIMIT $5::int
    )
) AS job
ORDER BY job.rank, job.at, job.seq
LIMIT $5::int
