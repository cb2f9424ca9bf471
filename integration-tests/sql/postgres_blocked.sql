-- Purpose: counts the connections of an application that wait for a lock.
-- Parameters: $1 its name.
SELECT count(*)
FROM pg_stat_activity
WHERE application_name = $1::text AND wait_event_type = 'Lock'
