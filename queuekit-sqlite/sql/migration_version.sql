-- Purpose: reads the version of the schema.
-- Result: the version, and the oldest version whose programs work with it; 0 if there is none.
SELECT coalesce(max(version), 0), coalesce(max(compatible_from), 0) FROM queuekit_migrations;
