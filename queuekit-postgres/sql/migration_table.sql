-- Whether the table of migrations is there: by the catalogs themselves, for who has waited for
-- another's migration; to_regclass() answers from a cache that may be older than the wait.
-- Parameters: none.
-- Result: one boolean.
-- Index: pg_namespace_nspname_index, pg_class_relname_nsp_index.
-- Locks: nothing.
SELECT EXISTS (
    SELECT
    FROM pg_catalog.pg_class
    JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pg_class.relnamespace
    WHERE pg_namespace.nspname = 'queuekit' AND pg_class.relname = 'migrations'
) AS is_there
