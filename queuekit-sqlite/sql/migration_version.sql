-- Purpose: reads the version of the schema.
-- Result: the version, and the oldest version whose programs work with it; 0 if there is none.
SELECT
    coalesce(max(version), 0) AS stored,
    coalesce(max(compatible_from), 0) AS compatible_from
FROM queuekit_migrations;
