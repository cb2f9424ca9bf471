-- Lets the transaction wait for no lock for long: others would wait behind it.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
SET LOCAL lock_timeout = '100ms'
