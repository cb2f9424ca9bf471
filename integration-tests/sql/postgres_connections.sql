-- Purpose: counts the connections of an application.
-- Parameters: $1 its name; $2 in which state, as a pattern: % for any.
SELECT count(*)
FROM pg_stat_activity
WHERE application_name = $1::text AND coalesce(state, '') LIKE $2::text
