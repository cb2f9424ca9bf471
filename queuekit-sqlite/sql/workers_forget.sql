-- Purpose: forgets workers that are no longer listed.
-- Parameters: 1 now.
-- Locks: runs inside a step. It looks at all workers, once for each that is new.
DELETE FROM queuekit_workers WHERE at + 3 * ttl_ms + quiet_ms <= ?1;
