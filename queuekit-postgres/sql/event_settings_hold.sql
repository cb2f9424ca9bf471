-- Keeps the settings of events as they are until the transaction ends.
-- Parameters: $1 the schema's number.
-- Result: their version.
-- Index: none: there is one row.
-- Locks: the settings, shared: who changes them waits, who emits does not.
SELECT queuekit.event_version($1::int) AS version
