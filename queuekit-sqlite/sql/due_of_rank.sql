-- Purpose: finds the first due open jobs of one priority.
-- Parameters: 1 queue, 2 rank, 3 now, 4 how many.
-- Result: the columns of job.sql, then payload (NULL if it is large) and metadata; in serving
-- order.
-- Index: queuekit_jobs_pending.
SELECT
    key, id, queue, kind, state, rank, scheduled_at, seq, open, lane, due, holds,
    attempts, max_attempts, releases, lease_seq, nonce, lease_expires_at, worker, started_at,
    cancel_requested, finished_at, end_seq, deadline_ms, deadline_at,
    idempotency_key, unique_until_done, size, reason, created_at, timeout_ms,
    payload, metadata
FROM queuekit_jobs
WHERE queue = ?1 AND state = 0 AND open = 1 AND rank = ?2 AND scheduled_at <= ?3
ORDER BY scheduled_at, seq LIMIT ?4;
