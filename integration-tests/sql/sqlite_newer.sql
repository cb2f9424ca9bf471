-- Purpose: says that a later version of the schema has been applied, as a newer build would.
INSERT INTO queuekit_migrations (version, compatible_from, applied_at) VALUES (999, 999, 0);
