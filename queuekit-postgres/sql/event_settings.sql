-- The settings of events.
-- Parameters: none.
-- Result: version, body.
-- Index: none: there is one row.
-- Locks: nothing.
SELECT settings.version, settings.body
FROM queuekit.event_settings AS settings
