-- Undoes a step.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
ROLLBACK TO SAVEPOINT queuekit_step
