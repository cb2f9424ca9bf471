-- Purpose: inserts a row that probe_delete removes, to find out whether the file takes writes. An
-- update that changes no byte would not be written.
-- Index: none.
-- Locks: runs inside a step.
INSERT INTO queuekit_migrations (version, compatible_from, applied_at) VALUES (0, 0, 0);
