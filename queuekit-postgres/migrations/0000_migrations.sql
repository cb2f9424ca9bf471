-- queuekit: the schema, and which versions of it were installed. The application's own migrations
-- have no part in it.
--
-- Purpose: what has to be there before the first migration.
-- Locks: the advisory lock of migrations, until the migration commits.
CREATE SCHEMA IF NOT EXISTS queuekit;

CREATE TABLE IF NOT EXISTS queuekit.migrations (
    version int PRIMARY KEY,
    -- Programs of this version of the schema and later work with what it leads to.
    compatible_from int NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
