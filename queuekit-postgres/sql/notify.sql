-- Notifies listeners that queues gained work, or that running jobs were asked to stop.
-- Parameters: $1 channel; $2 payloads.
-- Result: none that matters.
-- Index: none.
-- Locks: the one of notifications, at its commit.
SELECT pg_notify($1::text, notice.payload)
FROM unnest($2::text[]) AS notice (payload)
