-- Makes this connection plan its statements anew, for the tables as they are now.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
DISCARD PLANS
