-- Purpose: removes an event, unless a delivery that waits, runs or is dead needs its data.
-- Parameters: 1 number.
-- Result: one changed row if it was removed.
-- Index: the primary key; queuekit_jobs_event.
-- Locks: runs inside a step.
DELETE FROM queuekit_events
WHERE
    seq = ?1
    AND NOT EXISTS (
        SELECT 1 FROM queuekit_jobs AS jobs WHERE jobs.event = ?1 AND jobs.state IN (0, 3)
    );
