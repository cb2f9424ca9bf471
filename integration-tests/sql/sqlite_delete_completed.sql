-- Purpose: deletes the two jobs that completed first, as an operator might do by hand.
DELETE FROM queuekit_jobs WHERE key IN (
    SELECT runs.job
    FROM queuekit_runs AS runs
    JOIN queuekit_claims AS claims ON claims.claim = runs.claim
    WHERE claims.finished_at IS NOT NULL
    ORDER BY runs.job LIMIT 2
);
