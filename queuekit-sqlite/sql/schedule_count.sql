-- Purpose: counts the schedules.
-- Parameters: none.
-- Result: their number.
-- Index: none: it looks at all of them.
-- Locks: runs inside a step.
SELECT count(*) FROM queuekit_schedules;
