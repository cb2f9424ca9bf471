-- Purpose: reads an event by its id.
-- Parameters: 1 id.
-- Result: its row.
-- Index: the unique index on id.
-- Locks: none.
SELECT seq, id, kind, partition_key, idempotency_key, metadata, emitted_at, data
FROM queuekit_events
WHERE id = ?1;
