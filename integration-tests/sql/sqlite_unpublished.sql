-- Purpose: says that the last version of the schema that was never published has been applied.
UPDATE queuekit_migrations SET version = 11, compatible_from = 11;
