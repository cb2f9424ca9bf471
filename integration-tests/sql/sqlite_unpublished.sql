-- Purpose: says that the last version of the schema that was never published has been applied.
UPDATE queuekit_migrations SET version = 10, compatible_from = 10;
