-- Reads jobs of any state, without their large columns.
-- Parameters: $1 ids.
-- Result: a row per job that is stored, in no order.
-- Index: jobs_pkey, running_pkey, done_id, dead_pkey.
-- Locks: nothing.
SELECT
    jobs.id, jobs.queue,
    CASE WHEN running.id IS NULL THEN 0 ELSE 1 END::smallint AS state,
    jobs.seq, jobs.rank, jobs.scheduled_at, jobs.created_at, jobs.timeout_ms, jobs.deadline_at,
    coalesce(running.started_at, jobs.started_at) AS started_at,
    NULL::bigint AS finished_at, coalesce(running.lease_seq, jobs.lease_seq) AS lease_seq,
    running.nonce, running.lease_expires_at, coalesce(running.attempts, jobs.attempts) AS attempts,
    jobs.max_attempts, jobs.releases, coalesce(running.cancel_requested, false) AS cancel_requested,
    jobs.unique_until_done, false AS holds, jobs.kind, jobs.lane, jobs.idempotency_key,
    coalesce(running.worker, jobs.worker) AS worker, NULL::text AS reason
FROM queuekit.jobs
LEFT JOIN queuekit.running ON running.id = jobs.id
WHERE jobs.id = ANY ($1::uuid[])
UNION ALL
SELECT
    done.id, done.queue, done.state, done.seq, done.rank, done.scheduled_at, done.created_at,
    done.timeout_ms, done.deadline_at, done.started_at, done.finished_at,
    done.lease_seq, done.nonce, NULL, done.attempts, done.max_attempts, done.releases,
    done.cancel_requested, done.unique_until_done, false, done.kind, done.lane,
    done.idempotency_key, done.worker, NULL
FROM queuekit.done
WHERE done.id = ANY ($1::uuid[])
UNION ALL
SELECT
    dead.id, dead.queue, 3::smallint, dead.seq, dead.rank, dead.scheduled_at, dead.created_at,
    dead.timeout_ms, dead.deadline_at, dead.started_at, dead.finished_at,
    dead.lease_seq, dead.nonce, NULL, dead.attempts, dead.max_attempts, dead.releases,
    dead.cancel_requested, dead.unique_until_done, dead.holds, dead.kind, dead.lane,
    dead.idempotency_key, dead.worker, dead.reason
FROM queuekit.dead
WHERE dead.id = ANY ($1::uuid[])
