-- Purpose: creates the table of migrations that have run. Programs of version compatible_from and
-- later work with the migrated schema.
CREATE TABLE IF NOT EXISTS queuekit_migrations (
    version INTEGER PRIMARY KEY,
    compatible_from INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;
