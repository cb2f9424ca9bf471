-- Changes the settings of events, if they are still those that were seen.
-- Parameters: $1 the version seen; $2 body.
-- Result: the new version; no row if the settings have changed.
-- Index: none: there is one row.
-- Locks: the row. The caller holds the settings' lock.
UPDATE queuekit.event_settings AS settings
SET version = settings.version + 1, body = $2::bytea
WHERE settings.version = $1::bigint
RETURNING settings.version
