-- Purpose: marks where a call began inside the application's transaction.
-- Locks: none yet.
SAVEPOINT queuekit;
