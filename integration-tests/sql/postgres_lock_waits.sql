-- Purpose: statements of this database that wait for a lock now: of which process, since when, and
-- for how long by now, in microseconds.
SELECT l.pid,
    (extract(epoch FROM l.waitstart) * 1000000)::bigint AS since,
    (extract(epoch FROM clock_timestamp() - l.waitstart) * 1000000)::bigint AS waited
FROM pg_locks AS l
INNER JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE a.datname = current_database() AND l.waitstart IS NOT NULL
