-- Purpose: tells when the next one is due of those that are not.
-- Parameters: 1 now.
-- Result: its time.
-- Index: queuekit_schedules_due.
-- Locks: none.
SELECT next_at FROM queuekit_schedules WHERE next_at > ?1 ORDER BY next_at LIMIT 1;
