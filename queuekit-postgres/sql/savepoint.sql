-- Marks where a step begins.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
SAVEPOINT queuekit_step
