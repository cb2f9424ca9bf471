-- Records that a version was installed.
-- Parameters: $1 version; $2 the oldest schema version whose programs work with it.
-- Result: none.
-- Index: migrations_pkey.
-- Locks: its row.
INSERT INTO queuekit.migrations (version, compatible_from) VALUES ($1::int, $2::int)
