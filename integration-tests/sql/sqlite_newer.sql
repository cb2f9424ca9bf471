-- Purpose: says that a later version of the schema has been applied, as a newer build would.
INSERT INTO queuekit_migrations (version, applied_at) VALUES (999, 0);
