-- Purpose: finds the next partition key of a queue: one that has a row, or jobs that are pending,
-- run or hold it dead. So it finds also keys whose rows are missing.
-- Parameters: 1 queue, 2 the last one.
-- Result: a lane, or NULL.
-- Index: the primary keys; queuekit_ready_lane, covering; queuekit_runs_lane, covering;
-- queuekit_jobs_held, covering.
SELECT min(lane) FROM (
    SELECT lane FROM (
        SELECT lane FROM queuekit_lanes
        WHERE queue = ?1 AND lane > ?2
        ORDER BY lane LIMIT 1
    )
    UNION ALL
    SELECT lane FROM (
        SELECT lane FROM queuekit_ready
        WHERE queue = ?1 AND lane > ?2
        ORDER BY lane LIMIT 1
    )
    UNION ALL
    SELECT lane FROM (
        SELECT lane FROM queuekit_waiting
        WHERE queue = ?1 AND lane > ?2
        ORDER BY lane LIMIT 1
    )
    UNION ALL
    SELECT lane FROM (
        SELECT lane FROM queuekit_runs
        WHERE queue = ?1 AND lane > ?2
        ORDER BY lane LIMIT 1
    )
    UNION ALL
    SELECT lane FROM (
        SELECT lane FROM queuekit_jobs
        WHERE queue = ?1 AND lane > ?2 AND holds = 1
        ORDER BY lane LIMIT 1
    )
);
