-- Purpose: reads the number of the last event.
-- Parameters: none.
-- Result: its number.
-- Index: none: it looks at the last row only.
-- Locks: none.
SELECT seq FROM queuekit_events ORDER BY seq DESC LIMIT 1;
