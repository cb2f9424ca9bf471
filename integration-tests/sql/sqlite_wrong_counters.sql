-- Purpose: makes every queue count wrong, as a program that is not this store would.
UPDATE queuekit_queues SET
    pending = pending + 7, running = running + 1, completed = completed - 3, dead = 4,
    completed_size = 0, dead_size = 11;
