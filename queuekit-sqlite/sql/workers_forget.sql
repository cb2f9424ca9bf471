-- Purpose: forgets workers whose last beat is 3 ttl ago.
-- Parameters: 1 now.
-- Locks: runs inside a step. It looks at all workers, once for each that is new.
DELETE FROM queuekit_workers WHERE at + 3 * ttl_ms <= ?1;
