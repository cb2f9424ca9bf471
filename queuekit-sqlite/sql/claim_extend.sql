-- Purpose: moves the end of all leases of a claim.
-- Parameters: 1 claim, 2 when they run out.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_claims SET expires_at = ?2 WHERE claim = ?1;
