-- Schedules by name, up to a number of bytes, and the store's time.
-- Parameters: $1 the name they come after, empty for all; $2 most schedules; $3 most bytes.
-- Result: a row per schedule, as schedule.sql, and how many there are without the bound of bytes;
-- if there is none, one row with the time only.
-- Index: schedules_pkey.
-- Locks: nothing.
SELECT
    clock.now, found.name, found.revision, found.next_at, found.body, found.looked_at
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN (
    SELECT first.*
    FROM (
        SELECT
            next.*,
            sum(octet_length(next.body)) OVER (ORDER BY next.name) AS total,
            count(*) OVER () AS looked_at
        FROM (
            SELECT schedules.name, schedules.revision, schedules.next_at, schedules.body
            FROM queuekit.schedules
            WHERE schedules.name > $1::text
            ORDER BY schedules.name
            LIMIT $2::bigint
        ) AS next
    ) AS first
    -- The first fits whatever its size.
    WHERE first.total <= $3::bigint OR first.total = octet_length(first.body)
) AS found ON true
ORDER BY found.name
