-- Keeps everybody away from the log, so that a day of it can be dropped.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: ACCESS EXCLUSIVE on the log and its days, until the transaction ends.
LOCK TABLE queuekit.events IN ACCESS EXCLUSIVE MODE
