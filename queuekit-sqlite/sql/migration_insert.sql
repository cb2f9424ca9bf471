-- Purpose: remembers that a migration has run.
-- Parameters: 1 version, 2 now.
INSERT INTO queuekit_migrations (version, applied_at) VALUES (?1, ?2);
