-- Purpose: writes a row as it is, to see whether writes are taken.
-- Index: the primary key of queuekit_migrations.
UPDATE queuekit_migrations SET applied_at = applied_at WHERE version = 1;
