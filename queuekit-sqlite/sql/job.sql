-- Purpose: reads the columns of a job that can change, and those that decide how.
-- Parameters: 1 key, or NULL to go by 2 id.
-- Result: its row, or none.
-- Index: the primary key; the unique index on id.
SELECT
    key, id, queue, kind, state, rank, scheduled_at, seq, lane, holds,
    attempts, max_attempts, releases, lease_seq, nonce, lease_expires_at, worker, started_at,
    cancel_requested, finished_at, end_seq, deadline_ms, deadline_at,
    idempotency_key, unique_until_done, size, reason, created_at, timeout_ms
FROM queuekit_jobs
WHERE key = coalesce(?1, (SELECT key FROM queuekit_jobs WHERE id = ?2));
