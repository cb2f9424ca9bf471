-- Purpose: records that a migration has run.
-- Parameters: 1 version, 2 the oldest version whose programs work with it, 3 now.
INSERT INTO queuekit_migrations (version, compatible_from, applied_at) VALUES (?1, ?2, ?3);
