-- Purpose: reads the settings of events.
-- Parameters: none.
-- Result: version, body; none if nothing was ever stored.
-- Index: the primary key.
-- Locks: none.
SELECT version, body FROM queuekit_event_settings WHERE only = 1;
