-- Purpose: the table that tells which migrations have run.
CREATE TABLE IF NOT EXISTS queuekit_migrations (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
) STRICT;
