-- Makes the partitions of history, and of the log of events, for today and the days after, if they
-- are missing.
-- Parameters: $1 days.
-- Result: none.
-- Index: none.
-- Locks: SHARE UPDATE EXCLUSIVE on done and events, which blocks nobody who stores or ends jobs or
-- emits events. The caller holds the lock of the schema.
SELECT
    queuekit.history_add_day(clock.now + day.n::bigint * 86400000),
    queuekit.event_add_day(clock.now + day.n::bigint * 86400000)
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN generate_series(0, $1::int) AS day (n)
