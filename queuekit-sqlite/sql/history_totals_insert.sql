-- Purpose: records the totals of a queue, unless its row of that time is there: the first wins.
-- Parameters: 1 resolution, 2 the beginning of its time, 3 the queue's name, 4 when they were
-- read, 5 to 9 the totals.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT OR IGNORE INTO queuekit_history_totals
    (resolution, at, queue, read_at, enqueued, completed, failed, dead, cancelled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
