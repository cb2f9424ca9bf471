-- Purpose: counts the waiting jobs of a fair queue that have no key.
-- Parameters: 1 queue.
-- Result: one number.
-- Index: queuekit_ready_lane, covering.
SELECT count(*) FROM queuekit_ready WHERE queue = ?1 AND lane = '';
