-- Purpose: removes an event, unless a delivery that waits, runs or is dead needs its data.
-- Parameters: 1 number.
-- Result: one changed row if it was removed.
-- Index: the primary keys; queuekit_jobs_event.
-- Locks: runs inside a step.
DELETE FROM queuekit_events
WHERE
    seq = ?1
    AND NOT EXISTS (
        SELECT 1
        FROM queuekit_jobs AS jobs
        LEFT JOIN queuekit_runs AS runs ON runs.job = jobs.key
        LEFT JOIN queuekit_claims AS claims ON claims.claim = runs.claim
        WHERE jobs.event = ?1 AND jobs.state IN (0, 3) AND claims.finished_at IS NULL
    );
