-- Purpose: stores a schedule in place of the one with its name, under a new number.
-- Parameters: 1 name; 2 revision; 3 next time, if it is to be due; 4 the rest.
-- Result: none.
-- Index: the unique index of names.
-- Locks: runs inside a step.
INSERT OR REPLACE INTO queuekit_schedules (name, revision, next_at, body)
VALUES (?1, ?2, ?3, ?4);
