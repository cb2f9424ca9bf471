-- Purpose: reads a job that may be leased, unless it runs or has completed.
-- Parameters: 1 key.
-- Result: the columns of job.sql, then payload (NULL if it is large) and metadata.
-- Index: the primary keys.
SELECT
    key, id, queue, kind, state, rank, scheduled_at, seq, lane, holds,
    attempts, max_attempts, releases, NULL AS claim, lease_seq, nonce, NULL AS lease_expires_at,
    worker, started_at,
    cancel_requested, finished_at, end_seq, deadline_ms, deadline_at,
    idempotency_key, unique_until_done, size, reason, created_at, timeout_ms,
    payload, metadata
FROM queuekit_jobs
WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM queuekit_runs AS runs WHERE runs.job = ?1);
