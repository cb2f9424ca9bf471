-- Purpose: stores an event.
-- Parameters: in the order of the columns.
-- Result: none.
-- Index: none: it looks at nothing.
-- Locks: runs inside a step.
INSERT INTO queuekit_events (
    seq, id, kind, partition_key, idempotency_key, metadata, emitted_at, data
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);
