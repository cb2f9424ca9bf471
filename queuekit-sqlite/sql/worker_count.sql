-- Purpose: counts the stored workers.
-- Parameters: none.
-- Result: their number.
-- Index: none: it looks at all of them, once for each that is new.
-- Locks: runs inside a step.
SELECT count(*) FROM queuekit_workers;
