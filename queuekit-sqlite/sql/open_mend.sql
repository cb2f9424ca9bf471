-- Purpose: opens or closes a waiting job if it disagrees with its key.
-- Parameters: 1 key.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET open = NOT open
WHERE key = ?1 AND state = 0 AND open <> (
    coalesce(lane, '') = ''
    OR EXISTS (
        SELECT 1 FROM queuekit_lanes AS lanes
        WHERE lanes.queue = queuekit_jobs.queue AND lanes.lane = queuekit_jobs.lane
            AND queuekit_jobs.key = lanes.head
    )
);
