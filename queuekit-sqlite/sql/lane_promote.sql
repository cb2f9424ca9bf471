-- Purpose: where waiting jobs are passed, marks those of a key whose time has come. Each is marked
-- once, unless the clock steps back.
-- Parameters: 1 queue, 2 lane, 3 now, 4 how many at most.
-- Index: queuekit_jobs_later, covering; the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET due = 1
WHERE key IN (
    SELECT key FROM queuekit_jobs
    WHERE queue = ?1 AND lane = ?2 AND due = 0 AND scheduled_at <= ?3
    ORDER BY scheduled_at, seq LIMIT ?4
);
