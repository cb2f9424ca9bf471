-- Takes a partition off the history. The table `day` stands for it; how, is put behind.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: ACCESS EXCLUSIVE on the history and the partition, unless it is done concurrently.
ALTER TABLE queuekit.done DETACH PARTITION queuekit.day
