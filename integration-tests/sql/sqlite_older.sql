-- Purpose: says that no version of the schema has been applied yet.
DELETE FROM queuekit_migrations;
