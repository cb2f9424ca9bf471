-- Purpose: ends connections of an application, as an administrator does.
-- Parameters: $1 its name; $2 how likely each is to be ended, up to 1.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE application_name = $1::text AND random() < $2::float8
