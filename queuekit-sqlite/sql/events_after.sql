-- Purpose: reads events in the order of the log.
-- Parameters: 1 the number they come after, 2 how many at most.
-- Result: a row per event.
-- Index: the primary key.
-- Locks: none.
SELECT seq, id, kind, partition_key, idempotency_key, metadata, emitted_at, data
FROM queuekit_events
WHERE seq > ?1
ORDER BY seq
LIMIT ?2;
