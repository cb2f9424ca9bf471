-- Purpose: reads entries of the audit log, newest first.
-- Parameters: 1 the number they are before, NULL for the newest; 2 most rows.
-- Result: number, time, act.
-- Index: the primary key.
-- Locks: none.
SELECT seq, at, act FROM queuekit_audit
WHERE seq < coalesce(?1, 9223372036854775807)
ORDER BY seq DESC LIMIT ?2;
