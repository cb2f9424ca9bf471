-- Lets this connection make its plans anew, for the tables as they are by now.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
DISCARD PLANS
