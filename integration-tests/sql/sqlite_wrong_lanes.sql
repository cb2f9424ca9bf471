-- Purpose: makes every partition key count wrong and forget which job is next.
UPDATE queuekit_lanes SET
    waiting = 0, running = running + 1, held = 2, head = NULL, ready = NULL,
    next_at = NULL;
