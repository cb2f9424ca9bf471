-- Purpose: begins a claim for some jobs of another one.
-- Parameters: 1 the other claim, 2 when the leases of the new one run out.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_claims (queue, nonce, lease_seq, expires_at, started_at, worker)
SELECT queue, nonce, lease_seq, ?2, started_at, worker FROM queuekit_claims WHERE claim = ?1;
