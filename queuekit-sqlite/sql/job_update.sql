-- Purpose: writes the changes of a transition. No other statement changes a job's state.
-- Parameters: 1 key, then in the order of the columns; 20 result, or NULL to keep the stored one.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET
    state = ?2, scheduled_at = ?3, seq = ?4, open = ?5, lane = ?6, due = ?7, holds = ?8,
    attempts = ?9, releases = ?10, lease_seq = ?11, nonce = ?12, lease_expires_at = ?13,
    worker = ?14, started_at = ?15, cancel_requested = ?16, finished_at = ?17, end_seq = ?18,
    deadline_at = ?19, result = coalesce(?20, result), size = ?21, reason = ?22
WHERE key = ?1;
