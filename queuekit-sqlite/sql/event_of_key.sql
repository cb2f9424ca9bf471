-- Purpose: finds the event that has an idempotency key.
-- Parameters: 1 key.
-- Result: its id.
-- Index: the unique index on idempotency_key.
-- Locks: none.
SELECT id FROM queuekit_events WHERE idempotency_key = ?1;
