-- Ends a transaction well.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
COMMIT
