-- Purpose: writes the changes of a transition. No other statement changes a job's state.
-- Parameters: 1 key, then in the order of the columns; 17 result, or NULL to keep the stored one.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_jobs SET
    state = ?2, scheduled_at = ?3, seq = ?4, holds = ?5,
    attempts = ?6, releases = ?7, lease_seq = ?8, nonce = ?9, lease_expires_at = ?10,
    worker = ?11, started_at = ?12, cancel_requested = ?13, finished_at = ?14, end_seq = ?15,
    deadline_at = ?16, result = coalesce(?17, result), size = ?18, reason = ?19
WHERE key = ?1;
