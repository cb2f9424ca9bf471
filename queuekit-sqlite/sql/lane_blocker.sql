-- Purpose: finds the job that blocks a key: one that holds it dead, one that runs, or the first
-- that is pending.
-- Parameters: 1 queue, 2 lane.
-- Result: its id, or none.
-- Index: queuekit_jobs_held; queuekit_runs_lane; queuekit_ready_lane; the primary keys.
SELECT coalesce(
    (
        SELECT id FROM queuekit_jobs
        WHERE queue = ?1 AND lane = ?2 AND holds = 1 ORDER BY seq LIMIT 1
    ),
    (
        SELECT id FROM queuekit_jobs
        WHERE key = (
            SELECT job FROM queuekit_runs
            WHERE queue = ?1 AND lane = ?2 ORDER BY seq LIMIT 1
        )
    ),
    (
        SELECT id FROM queuekit_jobs
        WHERE key = (
            SELECT job FROM (
                SELECT job, seq FROM queuekit_ready WHERE queue = ?1 AND lane = ?2
                UNION ALL
                SELECT job, seq FROM queuekit_waiting WHERE queue = ?1 AND lane = ?2
                ORDER BY seq LIMIT 1
            )
        )
    )
) AS blocker
WHERE blocker IS NOT NULL;
