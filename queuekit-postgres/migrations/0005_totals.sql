-- queuekit, schema version 5: how the jobs of queues have ended so far, those that are gone
-- included.
--
-- Purpose: totals, which folding counts of what deltas tell of ends. Where another schema than
-- `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; ACCESS EXCLUSIVE on counts,
-- a row per queue.

ALTER TABLE queuekit.counts
    ADD COLUMN total_ended bigint NOT NULL DEFAULT 0,
    ADD COLUMN total_dead bigint NOT NULL DEFAULT 0,
    ADD COLUMN total_cancelled bigint NOT NULL DEFAULT 0;

-- Ends before this version: the stored jobs are counted, those removed earlier are not known.
UPDATE queuekit.counts
SET
    total_ended = counts.completed + counts.dead + counts.cancelled,
    total_dead = counts.dead,
    total_cancelled = counts.cancelled;
