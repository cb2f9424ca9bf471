-- Schedules by name, and the store's time.
-- Parameters: $1 the name they come after, empty for all; $2 most schedules.
-- Result: a row per schedule, as schedule.sql; if there is none, one row with the time only.
-- Index: schedules_pkey.
-- Locks: nothing.
SELECT
    clock.now, found.name, found.revision, found.next_at, found.body
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN (
    SELECT schedules.name, schedules.revision, schedules.next_at, schedules.body
    FROM queuekit.schedules
    WHERE schedules.name > $1::text
    ORDER BY schedules.name
    LIMIT $2::bigint
) AS found ON true
ORDER BY found.name
