-- Purpose: begins a claim.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_claims (queue, nonce, lease_seq, expires_at, started_at, worker)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);
