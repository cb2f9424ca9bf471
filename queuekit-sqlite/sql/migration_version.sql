-- Purpose: tells the version of the schema.
-- Result: a number, or none.
SELECT version FROM queuekit_migrations ORDER BY version DESC LIMIT 1;
