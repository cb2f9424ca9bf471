-- Forgets where a step began.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
RELEASE SAVEPOINT queuekit_step
