-- Makes the partitions of the log of events for today and the days after, if they are missing.
-- Parameters: $1 days.
-- Result: none.
-- Index: none.
-- Locks: SHARE UPDATE EXCLUSIVE on events, which blocks no emit. The caller holds the lock of the
-- schema.
SELECT queuekit.event_add_day(clock.now + day.n::bigint * 86400000)
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN generate_series(0, $1::int) AS day (n)
