-- Purpose: changes the settings of events.
-- Parameters: 1 version, 2 body.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT OR REPLACE INTO queuekit_event_settings (only, version, body) VALUES (1, ?1, ?2);
