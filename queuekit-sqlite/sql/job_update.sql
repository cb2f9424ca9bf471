-- Purpose: writes the changes of a transition. No other statement changes the column `state`; the
-- claim of a job says whether it runs or has completed.
-- Parameters: 1 key, then in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET
    state = ?2, scheduled_at = ?3, seq = ?4, holds = ?5,
    attempts = ?6, releases = ?7, lease_seq = ?8, nonce = ?9,
    worker = ?10, started_at = ?11, cancel_requested = ?12, finished_at = ?13, end_seq = ?14,
    deadline_at = ?15, reason = ?16
WHERE key = ?1;
