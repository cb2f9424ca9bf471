-- Purpose: stores an event.
-- Parameters: in the order of the columns.
-- Result: its number, or none if its id or its idempotency key is taken.
-- Index: the unique index on id, the unique index on idempotency_key.
-- Locks: runs inside a step.
INSERT INTO queuekit_events (
    id, kind, partition_key, idempotency_key, metadata, emitted_at, data
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING
RETURNING seq;
