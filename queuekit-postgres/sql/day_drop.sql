-- Drops a partition that was detached. The table name `day` is replaced by the partition's.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: ACCESS EXCLUSIVE on the partition.
DROP TABLE queuekit.day
