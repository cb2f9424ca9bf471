-- Purpose: marks the schema as one of a newer build.
-- Parameters: none; the schema's name is put in.
INSERT INTO queuekit.migrations (version, compatible_from) VALUES (99, 99)
