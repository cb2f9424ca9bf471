-- Purpose: functions that look their names up in whatever path the caller has: those that neither
-- have one of their own nor were bound when they were made.
-- Parameters: $1 the schema.
SELECT
    count(*) AS functions,
    coalesce(
        array_agg(pg_proc.oid::regprocedure::text) FILTER (
            WHERE pg_proc.prosqlbody IS NULL
            AND NOT coalesce(
                pg_proc.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false
            )
        ),
        '{}'
    ) AS unpinned
FROM pg_catalog.pg_proc
WHERE pg_proc.pronamespace = (
    SELECT pg_namespace.oid FROM pg_catalog.pg_namespace WHERE pg_namespace.nspname = $1::text
)
