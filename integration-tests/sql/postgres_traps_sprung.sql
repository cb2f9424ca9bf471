-- Purpose: how many sessions have run a trap.
-- Parameters: none.
SELECT count(*)
FROM pg_catalog.pg_locks
WHERE
    pg_locks.locktype = 'advisory' AND pg_locks.objid = 4711
    AND pg_locks.database = (
        SELECT pg_database.oid
        FROM pg_catalog.pg_database
        WHERE pg_database.datname = pg_catalog.current_database()
    )
