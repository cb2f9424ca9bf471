-- The store's time.
-- Parameters: none.
-- Result: ms since 1970.
-- Index: none.
-- Locks: nothing.
SELECT queuekit.now_ms() AS now
