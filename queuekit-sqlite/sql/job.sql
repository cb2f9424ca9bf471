-- Purpose: reads the columns of a job that can change, and those that decide how. While it runs and
-- once it has completed, those of its lease come from its claim.
-- Parameters: 1 key, or NULL to go by 2 id.
-- Result: its row, or none.
-- Index: the primary keys; the unique index on id.
SELECT
    jobs.key AS key, jobs.id AS id, jobs.queue AS queue, jobs.kind AS kind,
    CASE
        WHEN claims.claim IS NULL THEN jobs.state
        WHEN claims.finished_at IS NULL THEN 1
        ELSE 2
    END AS state,
    jobs.rank AS rank, jobs.scheduled_at AS scheduled_at, jobs.seq AS seq, jobs.lane AS lane,
    jobs.holds AS holds, jobs.attempts + (claims.claim IS NOT NULL) AS attempts,
    jobs.max_attempts AS max_attempts, jobs.releases AS releases,
    claims.claim AS claim, coalesce(claims.lease_seq, jobs.lease_seq) AS lease_seq,
    coalesce(claims.nonce, jobs.nonce) AS nonce, claims.expires_at AS lease_expires_at,
    coalesce(claims.worker, jobs.worker) AS worker,
    coalesce(claims.started_at, jobs.started_at) AS started_at,
    iif(claims.claim IS NULL, jobs.cancel_requested, runs.cancel_requested) AS cancel_requested,
    coalesce(claims.finished_at, jobs.finished_at) AS finished_at, jobs.end_seq AS end_seq,
    jobs.deadline_ms AS deadline_ms,
    jobs.deadline_at AS deadline_at, jobs.idempotency_key AS idempotency_key,
    jobs.unique_until_done AS unique_until_done, jobs.size AS size, jobs.reason AS reason,
    jobs.created_at AS created_at, jobs.timeout_ms AS timeout_ms
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_runs AS runs ON runs.job = jobs.key AND jobs.state = 0
LEFT JOIN queuekit_claims AS claims ON claims.claim = runs.claim
WHERE jobs.key = coalesce(?1, (SELECT key FROM queuekit_jobs WHERE id = ?2));
