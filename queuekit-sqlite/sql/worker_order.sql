-- Purpose: stores the orders of a worker.
-- Parameters: 1 id; 2 the number of the last; 3 mode; 4 slots, NULL if none is left to obey.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_workers SET order_seq = ?2, order_mode = ?3, order_slots = ?4 WHERE id = ?1;
