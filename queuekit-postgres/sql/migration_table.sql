-- Whether the table of migrations exists. It reads the catalogs themselves: after a wait for
-- another process's migration, to_regclass() may answer from a cache that is older than the wait.
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
