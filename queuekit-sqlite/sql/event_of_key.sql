-- Purpose: finds the event of a type that has an idempotency key.
-- Parameters: 1 kind, 2 key.
-- Result: its id.
-- Index: the unique index on kind and idempotency_key.
-- Locks: none.
SELECT id FROM queuekit_events WHERE kind = ?1 AND idempotency_key = ?2;
