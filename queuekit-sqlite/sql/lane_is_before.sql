-- Purpose: checks whether a key has a pending or running job before a sequence.
-- Parameters: 1 queue, 2 lane, 3 seq.
-- Result: 1 or 0.
-- Index: queuekit_ready_lane, covering; the primary key; queuekit_runs_lane, covering.
SELECT
    EXISTS (SELECT 1 FROM queuekit_ready WHERE queue = ?1 AND lane = ?2 AND seq < ?3)
    OR EXISTS (SELECT 1 FROM queuekit_waiting WHERE queue = ?1 AND lane = ?2 AND seq < ?3)
    OR EXISTS (SELECT 1 FROM queuekit_runs WHERE queue = ?1 AND lane = ?2 AND seq < ?3);
