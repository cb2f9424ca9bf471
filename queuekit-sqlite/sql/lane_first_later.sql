-- Purpose: where waiting jobs are passed, finds the one of a key whose time comes next.
-- Parameters: 1 queue, 2 lane.
-- Result: key, seq, scheduled_at, or none.
-- Index: queuekit_waiting_later.
SELECT job AS key, seq, at AS scheduled_at FROM queuekit_waiting
WHERE queue = ?1 AND lane = ?2 AND due = 0
ORDER BY at, seq LIMIT 1;
