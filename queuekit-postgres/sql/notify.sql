-- Notifies listeners that queues gained work, or that running jobs were asked to stop.
-- Parameters: $1 channel; $2 payloads.
-- Result: none that matters.
-- Index: none.
-- Locks: the one of notifications, at its commit.
-- It names its functions in full, because it also runs alone in transactions of applications.
SELECT pg_catalog.pg_notify($1::text, notice.payload)
FROM pg_catalog.unnest($2::text[]) AS notice (payload)
