-- Purpose: forgets which totals of a removed queue were recorded.
-- Parameters: 1 its id.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_history_recorded WHERE queue = ?1;
