-- Purpose: counts the jobs of a partition key that are pending, run, and hold it dead.
-- Parameters: 1 queue, 2 lane.
-- Result: three numbers.
-- Index: queuekit_ready_lane, covering; the primary key; queuekit_runs_lane, covering;
-- queuekit_jobs_held.
SELECT
    (SELECT count(*) FROM queuekit_ready WHERE queue = ?1 AND lane = ?2)
    + (SELECT count(*) FROM queuekit_waiting WHERE queue = ?1 AND lane = ?2) AS waiting,
    (SELECT count(*) FROM queuekit_runs WHERE queue = ?1 AND lane = ?2) AS running,
    (
        SELECT count(*) FROM queuekit_jobs WHERE queue = ?1 AND lane = ?2 AND holds = 1
    ) AS held;
