-- Purpose: changes a queue's settings.
-- Parameters: 1 id, 2 the document of its settings.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_queues SET settings = ?2
WHERE id = ?1;
