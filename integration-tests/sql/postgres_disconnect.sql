-- Purpose: ends every connection to a database.
-- Parameters: $1 its name.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1::text
