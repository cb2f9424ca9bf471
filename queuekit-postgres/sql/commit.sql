-- Commits a transaction.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
COMMIT
