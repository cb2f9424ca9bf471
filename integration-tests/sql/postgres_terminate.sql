-- Purpose: ends the connections of an application, as an administrator does.
-- Parameters: $1 its name.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1::text
