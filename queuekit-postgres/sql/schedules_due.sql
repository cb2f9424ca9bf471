-- Schedules whose time has come, by that time and then by name, after a place and up to a number
-- of bytes; the store's time; and when the next of the others is due.
-- Parameters: $1 most schedules; $2 time and $3 name of the place; $4 most bytes.
-- Result: a row per schedule, as schedule.sql, how many there are without the bound of bytes, and
-- next_at of the first that is not due; if none is due, one row without a schedule.
-- Index: schedules_due.
-- Locks: nothing.
SELECT
    clock.now, found.name, found.revision, found.next_at, found.body, found.looked_at,
    next.next_at AS next_due_at
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN LATERAL (
    SELECT first.*
    FROM (
        SELECT
            due.*,
            sum(octet_length(due.body)) OVER (ORDER BY due.next_at, due.name) AS total,
            count(*) OVER () AS looked_at
        FROM (
            SELECT schedules.name, schedules.revision, schedules.next_at, schedules.body
            FROM queuekit.schedules
            WHERE
                schedules.next_at <= clock.now AND schedules.next_at >= $2::bigint
                AND (schedules.next_at, schedules.name) > ($2::bigint, $3::text)
            ORDER BY schedules.next_at, schedules.name
            LIMIT $1::bigint
        ) AS due
    ) AS first
    -- The first fits whatever its size.
    WHERE first.total <= $4::bigint OR first.total = octet_length(first.body)
) AS found ON true
LEFT JOIN LATERAL (
    SELECT schedules.next_at
    FROM queuekit.schedules
    WHERE schedules.next_at > clock.now
    ORDER BY schedules.next_at
    LIMIT 1
) AS next ON true
ORDER BY found.next_at, found.name
