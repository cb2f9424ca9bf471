-- Purpose: removes the row of probe_insert, in the same transaction.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_migrations WHERE version = 0;
