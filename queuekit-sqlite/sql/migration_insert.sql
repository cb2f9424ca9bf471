-- Purpose: remembers that a migration has run.
-- Parameters: 1 version, 2 since which version programs work with it, 3 now.
INSERT INTO queuekit_migrations (version, compatible_from, applied_at) VALUES (?1, ?2, ?3);
