-- Purpose: records the first beat of a worker.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_workers (
    id, name, queues, kinds, slots, running, ttl_ms, at, quiet_ms, about, order_seq, order_mode,
    order_slots
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);
