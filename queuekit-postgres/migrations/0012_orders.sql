-- queuekit, schema version 12: orders to workers.
--
-- Purpose: what a worker says of its process and its jobs, how much longer than 3 ttl it is listed,
-- and what it was ordered to do (contract R3.9). Programs of version 11 would forget workers that
-- are listed longer. Where another schema than `queuekit` was chosen, each `queuekit.` below is
-- replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; ACCESS EXCLUSIVE on workers,
-- for an instant.

ALTER TABLE queuekit.workers
    -- JSON, of core's About.
    ADD COLUMN about text NOT NULL DEFAULT '{}',
    ADD COLUMN quiet_ms bigint NOT NULL DEFAULT 0,
    -- The number of the last order, and what is not obeyed yet.
    ADD COLUMN order_seq bigint NOT NULL DEFAULT 0,
    ADD COLUMN order_mode text,
    ADD COLUMN order_slots int;
