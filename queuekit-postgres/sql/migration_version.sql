-- The newest version that was installed.
-- Parameters: none.
-- Result: the version, and the oldest schema version whose programs work with it; 0 if none was
-- installed.
-- Index: migrations_pkey.
-- Locks: nothing.
SELECT
    coalesce(max(migrations.version), 0) AS version,
    coalesce(max(migrations.compatible_from), 0) AS compatible_from
FROM queuekit.migrations
