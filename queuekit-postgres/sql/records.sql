-- Reads jobs of any state, without their large columns.
-- Parameters: $1 ids.
-- Result: a row per job that is stored, in no order.
-- Index: jobs_pkey, running_pkey, ended_pkey, dead_pkey.
-- Locks: nothing.
SELECT
    jobs.id, jobs.queue,
    CASE
        WHEN ended.id IS NOT NULL THEN ended.state
        WHEN running.id IS NOT NULL THEN 1
        ELSE 0
    END::smallint AS state,
    jobs.seq, jobs.rank, jobs.scheduled_at, jobs.created_at, jobs.timeout_ms, jobs.deadline_at,
    coalesce(ended.started_at, running.started_at, jobs.started_at) AS started_at,
    ended.finished_at, coalesce(ended.lease_seq, running.lease_seq, jobs.lease_seq) AS lease_seq,
    coalesce(ended.nonce, running.nonce) AS nonce, running.lease_expires_at,
    coalesce(ended.attempts, running.attempts, jobs.attempts) AS attempts,
    jobs.max_attempts, jobs.releases,
    coalesce(ended.cancel_requested, running.cancel_requested, false) AS cancel_requested,
    jobs.unique_until_done, false AS holds, jobs.kind, jobs.lane, jobs.idempotency_key,
    coalesce(ended.worker, running.worker, jobs.worker) AS worker, NULL::text AS reason
FROM queuekit.jobs
LEFT JOIN queuekit.running ON running.id = jobs.id
LEFT JOIN queuekit.ended ON ended.id = jobs.id
WHERE jobs.id = ANY ($1::uuid[])
UNION ALL
SELECT
    dead.id, dead.queue, 3::smallint, dead.seq, dead.rank, dead.scheduled_at, dead.created_at,
    dead.timeout_ms, dead.deadline_at, dead.started_at, dead.finished_at,
    dead.lease_seq, dead.nonce, NULL, dead.attempts, dead.max_attempts, dead.releases,
    dead.cancel_requested, dead.unique_until_done, dead.holds, dead.kind, dead.lane,
    dead.idempotency_key, dead.worker, dead.reason
FROM queuekit.dead
WHERE dead.id = ANY ($1::uuid[])
