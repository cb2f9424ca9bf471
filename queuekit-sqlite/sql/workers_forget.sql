-- Purpose: forgets workers whose last beat is 3 ttl ago.
-- Parameters: 1 now.
-- Locks: runs inside a step. There are few workers: it looks at all of them.
DELETE FROM queuekit_workers WHERE at + 3 * ttl_ms <= ?1;
