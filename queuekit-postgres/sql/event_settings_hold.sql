-- Keeps the settings of events as they are until the transaction ends.
-- Parameters: $1 the schema's number.
-- Result: their version.
-- Index: none: there is one row.
-- Locks: the settings, shared: those who change them wait, those who emit do not.
SELECT queuekit.event_version($1::int) AS version
