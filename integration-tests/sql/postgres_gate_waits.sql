-- Purpose: whether a call waits at a gate.
-- Parameters: $1 which.
SELECT EXISTS (
    SELECT
    FROM pg_locks
    WHERE
        locktype = 'advisory' AND classid = 77 AND objid = $1::int::oid AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
