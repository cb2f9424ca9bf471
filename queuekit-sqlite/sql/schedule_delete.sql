-- Purpose: removes a schedule.
-- Parameters: 1 name.
-- Result: none.
-- Index: the unique index of names.
-- Locks: runs inside a step.
DELETE FROM queuekit_schedules WHERE name = ?1;
