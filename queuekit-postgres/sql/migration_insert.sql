-- Records that a version was installed.
-- Parameters: $1 version.
-- Result: none.
-- Index: migrations_pkey.
-- Locks: its row.
INSERT INTO queuekit.migrations (version) VALUES ($1::int)
