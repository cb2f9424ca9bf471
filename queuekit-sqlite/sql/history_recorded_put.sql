-- Purpose: remembers which totals of a queue were recorded last.
-- Parameters: 1 its id, 2 to 6 the totals.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_history_recorded (queue, enqueued, completed, failed, dead, cancelled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (queue) DO UPDATE SET
    enqueued = excluded.enqueued, completed = excluded.completed, failed = excluded.failed,
    dead = excluded.dead, cancelled = excluded.cancelled;
