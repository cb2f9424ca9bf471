-- Purpose: writes a row that probe_delete takes back, to see whether writes are taken: an update
-- that changes no byte is not written.
-- Index: none.
-- Locks: runs inside a step.
INSERT INTO queuekit_migrations (version, compatible_from, applied_at) VALUES (0, 0, 0);
