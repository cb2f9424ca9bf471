-- Purpose: finds the place of an event in the log, without its data.
-- Parameters: 1 id.
-- Result: its number.
-- Index: the unique index on id.
-- Locks: none.
SELECT seq FROM queuekit_events WHERE id = ?1;
