-- Purpose: removes old rows of a resolution.
-- Parameters: 1 resolution, 2 the rows begin before, 3 how many at most.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_history_runs
WHERE (resolution, at, queue, kind) IN (
    SELECT resolution, at, queue, kind FROM queuekit_history_runs
    WHERE resolution = ?1 AND at < ?2 LIMIT ?3
);
