-- Purpose: begins a claim for some jobs of another one that have completed.
-- Parameters: 1 the other claim, 2 finished_at, 3 end_seq, 4 end_offset.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_claims (
    queue, nonce, lease_seq, expires_at, started_at, worker, finished_at, end_seq, end_offset
)
SELECT queue, nonce, lease_seq, expires_at, started_at, worker, ?2, ?3, ?4
FROM queuekit_claims WHERE claim = ?1;
