-- Purpose: says that only the first version of the schema has been applied.
DELETE FROM queuekit_migrations WHERE version > 1;
