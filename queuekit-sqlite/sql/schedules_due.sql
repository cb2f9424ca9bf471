-- Purpose: reads the schedules whose time has come, the earliest first.
-- Parameters: 1 now; 2 how many at most.
-- Result: a row per schedule.
-- Index: queuekit_schedules_due.
-- Locks: none.
SELECT name, revision, next_at, body FROM queuekit_schedules
WHERE next_at <= ?1
ORDER BY next_at
LIMIT ?2;
