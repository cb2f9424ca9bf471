-- Purpose: where waiting jobs are passed, marks those of a key whose time has come. Each is marked
-- once, unless the clock steps back.
-- Parameters: 1 queue, 2 lane, 3 now, 4 how many at most.
-- Index: queuekit_waiting_later; the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_waiting SET due = 1
WHERE queue = ?1 AND lane = ?2 AND seq IN (
    SELECT seq FROM queuekit_waiting
    WHERE queue = ?1 AND lane = ?2 AND due = 0 AND at <= ?3
    ORDER BY at, seq LIMIT ?4
);
