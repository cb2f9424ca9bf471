-- Purpose: takes a number that was never used before.
-- Parameters: none.
-- Result: the number.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_numbers SET last = last + 1 WHERE only = 1 RETURNING last;
