-- Purpose: says that the next version of the schema has been applied.
-- Parameters: 1 the version, 2 since which version programs work with it.
INSERT OR REPLACE INTO queuekit_migrations (version, compatible_from, applied_at)
VALUES (?1, ?2, 0);
