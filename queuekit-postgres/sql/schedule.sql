-- The schedule of a name, and the store's time.
-- Parameters: $1 name.
-- Result: one row: ms since 1970, and of the schedule, if there is one, name, revision, next_at and
-- body.
-- Index: schedules_pkey.
-- Locks: nothing.
SELECT
    clock.now, schedules.name, schedules.revision, schedules.next_at, schedules.body
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN queuekit.schedules ON schedules.name = $1::text
