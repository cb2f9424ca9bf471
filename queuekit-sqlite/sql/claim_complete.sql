-- Purpose: states that all jobs of a claim have completed.
-- Parameters: 1 claim, 2 finished_at, 3 end_seq, 4 end_offset.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_claims SET finished_at = ?2, end_seq = ?3, end_offset = ?4 WHERE claim = ?1;
