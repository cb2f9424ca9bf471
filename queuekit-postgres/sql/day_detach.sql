-- Detaches a partition from the history. The table name `day` is replaced by the partition's; the
-- caller appends CONCURRENTLY or FINALIZE.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: ACCESS EXCLUSIVE on the history and the partition, unless it is done concurrently.
ALTER TABLE queuekit.done DETACH PARTITION queuekit.day
