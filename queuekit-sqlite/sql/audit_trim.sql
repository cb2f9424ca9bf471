-- Purpose: removes the oldest entries of the audit log, after one was added.
-- Parameters: 1 how many are kept.
-- Result: none.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_audit WHERE seq <= last_insert_rowid() - ?1;
