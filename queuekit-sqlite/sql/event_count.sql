-- Purpose: counts the events after a number.
-- Parameters: 1 the number.
-- Result: how many.
-- Index: the unique index on id, which is small: it has the numbers, and no data.
-- Locks: runs inside a step.
SELECT count(*) FROM queuekit_events WHERE +seq > ?1;
