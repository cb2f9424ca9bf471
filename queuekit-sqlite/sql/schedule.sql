-- Purpose: reads the schedule of a name.
-- Parameters: 1 name.
-- Result: its row.
-- Index: the unique index of names.
-- Locks: none.
SELECT name, revision, next_at, body FROM queuekit_schedules WHERE name = ?1;
