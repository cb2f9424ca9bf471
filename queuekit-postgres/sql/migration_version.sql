-- The newest version that was installed.
-- Parameters: none.
-- Result: the version, and since which version programs work with it; 0 if there is none.
-- Index: migrations_pkey.
-- Locks: nothing.
SELECT
    coalesce(max(migrations.version), 0) AS version,
    coalesce(max(migrations.compatible_from), 0) AS compatible_from
FROM queuekit.migrations
