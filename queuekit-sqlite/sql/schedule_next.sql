-- Purpose: finds when the next schedule that is not due yet will be due.
-- Parameters: 1 now.
-- Result: its time.
-- Index: queuekit_schedules_due.
-- Locks: none.
SELECT next_at FROM queuekit_schedules WHERE next_at > ?1 ORDER BY next_at LIMIT 1;
