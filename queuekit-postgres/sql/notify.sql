-- Tells who listens that queues gained work.
-- Parameters: $1 channel; $2 queue names.
-- Result: none that matters.
-- Index: none.
-- Locks: the one of notifications, at its commit.
SELECT pg_notify($1::text, queue.name)
FROM unnest($2::text[]) AS queue (name)
