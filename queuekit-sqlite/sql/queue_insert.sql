-- Purpose: creates a queue.
-- Parameters: 1 name, 2 the empty ring of ends.
-- Result: its id.
-- Locks: runs inside a step.
INSERT INTO queuekit_queues (name, last_ended)
VALUES (?1, ?2)
RETURNING id;
