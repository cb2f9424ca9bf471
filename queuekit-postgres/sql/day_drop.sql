-- Drops a partition that was detached. The table `day` stands for it.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: ACCESS EXCLUSIVE on the partition.
DROP TABLE queuekit.day
