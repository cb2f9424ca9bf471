-- Purpose: the table that tells which migrations have run. Programs that know a version from
-- compatible_from on work with what the migration leads to.
CREATE TABLE IF NOT EXISTS queuekit_migrations (
    version INTEGER PRIMARY KEY,
    compatible_from INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;
