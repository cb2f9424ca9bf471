-- Purpose: counts the jobs of a partition key that wait, run, and hold it dead.
-- Parameters: 1 queue, 2 lane.
-- Result: three numbers.
-- Index: queuekit_jobs_lane, covering; queuekit_jobs_held.
SELECT
    (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = ?1 AND lane = ?2 AND state = 0 AND state < 2
    ) AS waiting,
    (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = ?1 AND lane = ?2 AND state = 1 AND state < 2
    ) AS running,
    (
        SELECT count(*) FROM queuekit_jobs WHERE queue = ?1 AND lane = ?2 AND holds = 1
    ) AS held;
