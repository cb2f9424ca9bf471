-- Purpose: finds the first due ready jobs of one priority.
-- Parameters: 1 queue, 2 rank, 3 now, 4 how many.
-- Result: the columns of job.sql, then payload (NULL if it is large) and metadata; in serving
-- order.
-- Index: the primary keys.
SELECT
    jobs.key AS key, jobs.id AS id, jobs.queue AS queue, jobs.kind AS kind, jobs.state AS state,
    ready.rank AS rank, ready.at AS scheduled_at, ready.seq AS seq, jobs.lane AS lane,
    jobs.holds AS holds, jobs.attempts AS attempts, jobs.max_attempts AS max_attempts,
    jobs.releases AS releases, NULL AS claim, jobs.lease_seq AS lease_seq, jobs.nonce AS nonce,
    NULL AS lease_expires_at, jobs.worker AS worker,
    jobs.started_at AS started_at, jobs.cancel_requested AS cancel_requested,
    jobs.finished_at AS finished_at, jobs.end_seq AS end_seq, jobs.deadline_ms AS deadline_ms,
    jobs.deadline_at AS deadline_at, jobs.idempotency_key AS idempotency_key,
    jobs.unique_until_done AS unique_until_done, jobs.size AS size, jobs.reason AS reason,
    jobs.created_at AS created_at, jobs.timeout_ms AS timeout_ms,
    jobs.payload AS payload, jobs.metadata AS metadata
FROM queuekit_ready AS ready
CROSS JOIN queuekit_jobs AS jobs ON jobs.key = ready.job AND jobs.state = 0
WHERE
    ready.queue = ?1 AND ready.rank = ?2 AND ready.at <= ?3
    -- Guard: a place of a job that runs or has completed, in a file that was changed by hand.
    AND NOT EXISTS (SELECT 1 FROM queuekit_runs AS runs WHERE runs.job = ready.job)
ORDER BY ready.at, ready.seq LIMIT ?4;
