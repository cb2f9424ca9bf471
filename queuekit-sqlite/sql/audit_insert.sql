-- Purpose: adds an entry to the audit log.
-- Parameters: 1 time; 2 the act, as JSON.
-- Result: none.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_audit (at, act) VALUES (?1, ?2);
