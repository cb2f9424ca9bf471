-- Purpose: reads the names of schedules whose time has come, by that time and then by name, after a
-- place.
-- Parameters: 1 now; 2 time and 3 name of the place; 4 how many at most.
-- Result: a name per schedule.
-- Index: queuekit_schedules_due.
-- Locks: none.
SELECT name FROM queuekit_schedules
WHERE next_at <= ?1 AND (next_at, name) > (?2, ?3)
ORDER BY next_at, name
LIMIT ?4;
