-- queuekit, schema version 10: orders to workers.
--
-- Purpose: what a worker says of its process and its jobs, how much longer than 3 ttl it is listed,
-- and what it was ordered to do (contract R3.9). Programs of version 9 would forget workers that
-- are listed longer.
-- Locks: the file's write lock, until the migration commits.

-- JSON, of core's About.
ALTER TABLE queuekit_workers ADD COLUMN about TEXT NOT NULL DEFAULT '{}';
ALTER TABLE queuekit_workers ADD COLUMN quiet_ms INTEGER NOT NULL DEFAULT 0;
-- The number of the last order, and what is not obeyed yet.
ALTER TABLE queuekit_workers ADD COLUMN order_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queuekit_workers ADD COLUMN order_mode TEXT;
ALTER TABLE queuekit_workers ADD COLUMN order_slots INTEGER;
