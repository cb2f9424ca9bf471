-- Purpose: reads schedules by name.
-- Parameters: 1 the name they come after, empty for all; 2 how many at most.
-- Result: a row per schedule.
-- Index: the unique index of names.
-- Locks: none.
SELECT name, revision, next_at, body FROM queuekit_schedules
WHERE name > ?1
ORDER BY name
LIMIT ?2;
