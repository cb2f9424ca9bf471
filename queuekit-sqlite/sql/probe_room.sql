-- Purpose: takes as much of the log as any call about one job (128 KiB), to find out whether there is
-- room for one. It is undone in the same transaction.
-- Index: none.
-- Locks: runs inside a step.
INSERT INTO queuekit_payloads (job, payload) VALUES (-1, zeroblob(131072));
