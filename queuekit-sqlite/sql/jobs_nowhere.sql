-- Purpose: finds jobs that are neither dead nor cancelled, and stand neither among those that are
-- ready, that wait, that run nor that have completed.
-- Parameters: 1 and 2 the keys before and at the end of a slice of jobs.
-- Result: keys.
-- Index: the primary keys.
SELECT jobs.key AS key
FROM queuekit_jobs AS jobs
WHERE
    jobs.key > ?1 AND jobs.key <= ?2 AND jobs.state = 0
    AND NOT EXISTS (
        SELECT 1 FROM queuekit_ready AS ready
        WHERE ready.queue = jobs.queue AND ready.rank = jobs.rank
            AND ready.at = jobs.scheduled_at AND ready.seq = jobs.seq AND ready.job = jobs.key
    )
    AND NOT EXISTS (
        SELECT 1 FROM queuekit_waiting AS waiting
        WHERE waiting.queue = jobs.queue AND waiting.lane = jobs.lane
            AND waiting.seq = jobs.seq AND waiting.job = jobs.key
    )
    AND NOT EXISTS (
        SELECT 1
        FROM queuekit_runs AS runs
        CROSS JOIN queuekit_claims AS claims ON claims.claim = runs.claim
        WHERE runs.job = jobs.key AND runs.queue = jobs.queue AND runs.seq = jobs.seq
            AND claims.queue = jobs.queue
    );
