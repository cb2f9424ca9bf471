-- queuekit, schema version 4: how the jobs of a queue have ended so far, those that are gone
-- included.
--
-- Purpose: totals. How many have ended is last_end_seq; these of them died, or were cancelled.
-- Locks: the file's write lock, until the migration commits.

ALTER TABLE queuekit_queues ADD COLUMN total_dead INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queuekit_queues ADD COLUMN total_cancelled INTEGER NOT NULL DEFAULT 0;

-- What was not counted before and is gone counts as completed.
UPDATE queuekit_queues SET total_dead = dead, total_cancelled = cancelled;
