-- Makes the partitions of history for today and the days after, if they are missing.
-- Parameters: $1 days; $2 the schema's number.
-- Result: none.
-- Index: none.
-- Locks: the advisory lock (schema, 0); SHARE UPDATE EXCLUSIVE on done, which nobody waits for
-- who stores or ends jobs.
WITH locked AS MATERIALIZED (
    SELECT pg_advisory_xact_lock($2::int, 0)
)
SELECT queuekit.history_add_day(clock.now + day.n::bigint * 86400000)
FROM locked
CROSS JOIN (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN generate_series(0, $1::int) AS day (n)
