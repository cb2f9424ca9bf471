-- Schedules whose time has come, the earliest first; the store's time; and when the next of the
-- others is due.
-- Parameters: $1 most schedules.
-- Result: a row per schedule, as schedule.sql, and next_at of the schedule after it; if none is
-- due, one row without a schedule.
-- Index: schedules_due.
-- Locks: nothing.
SELECT
    clock.now, found.name, found.revision, found.next_at, found.body,
    next.next_at AS next_due_at
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN LATERAL (
    SELECT schedules.name, schedules.revision, schedules.next_at, schedules.body
    FROM queuekit.schedules
    WHERE schedules.next_at <= clock.now
    ORDER BY schedules.next_at
    LIMIT $1::bigint
) AS found ON true
LEFT JOIN LATERAL (
    SELECT schedules.next_at
    FROM queuekit.schedules
    WHERE schedules.next_at > clock.now
    ORDER BY schedules.next_at
    LIMIT 1
) AS next ON true
ORDER BY found.next_at
