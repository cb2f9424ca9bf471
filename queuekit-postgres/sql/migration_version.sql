-- The newest version that was installed.
-- Parameters: none.
-- Result: one number, 0 if there is none.
-- Index: migrations_pkey.
-- Locks: nothing.
SELECT coalesce(max(migrations.version), 0) AS version
FROM queuekit.migrations
