-- Purpose: reads an event's type and data, to compare them with those of an equal id.
-- Parameters: 1 id.
-- Result: kind, data.
-- Index: the unique index on id.
-- Locks: none.
SELECT kind, data FROM queuekit_events WHERE id = ?1;
