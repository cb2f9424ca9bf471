-- Purpose: where waiting jobs are passed, finds the first of a key whose time has come.
-- Parameters: 1 queue, 2 lane.
-- Result: key, seq, scheduled_at, or none.
-- Index: queuekit_waiting_due.
SELECT job AS key, seq, at AS scheduled_at FROM queuekit_waiting INDEXED BY queuekit_waiting_due
WHERE queue = ?1 AND lane = ?2 AND due = 1
ORDER BY seq LIMIT 1;
