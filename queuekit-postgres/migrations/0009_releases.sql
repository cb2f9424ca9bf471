-- queuekit, schema version 9: releases apart from failures.
--
-- Purpose: the column `errors` of a job holds its releases too (contract R4.8): an entry with a
-- `cause` is a release. The view shows each in a column of its own. Programs of version 8 would
-- show releases as failures. Where another schema than `queuekit` was chosen, each `queuekit.`
-- below is replaced by it.
-- Locks: the advisory lock of migrations and ACCESS EXCLUSIVE on the view, until the migration
-- commits.
CREATE OR REPLACE VIEW queuekit.job_list AS
SELECT
    job.id,
    queues.name AS queue,
    job.kind,
    job.state,
    31 - job.rank AS priority,
    job.attempts,
    job.max_attempts,
    nullif(job.lane, '') AS partition_key,
    job.idempotency_key,
    queuekit.to_time(job.created_at) AS created_at,
    queuekit.to_time(job.scheduled_at) AS scheduled_at,
    queuekit.to_time(job.started_at) AS started_at,
    queuekit.to_time(job.finished_at) AS finished_at,
    queuekit.to_time(job.deadline_at) AS deadline_at,
    queuekit.to_time(job.lease_expires_at) AS lease_expires_at,
    job.worker,
    job.reason,
    job.metadata,
    nullif(jsonb_path_query_array(job.errors, '$[*] ? (!exists(@.cause))'), '[]') AS errors,
    queuekit.readable(job.result) AS result,
    queuekit.readable(coalesce(events.data, job.payload)) AS payload,
    nullif(jsonb_path_query_array(job.errors, '$[*] ? (exists(@.cause))'), '[]') AS released
FROM (
    SELECT
        jobs.id, jobs.queue, jobs.kind,
        CASE WHEN running.id IS NULL THEN 'pending' ELSE 'running' END AS state,
        jobs.rank, coalesce(running.attempts, jobs.attempts) AS attempts, jobs.max_attempts,
        jobs.lane, jobs.idempotency_key, jobs.created_at, jobs.scheduled_at,
        coalesce(running.started_at, jobs.started_at) AS started_at,
        NULL::bigint AS finished_at, jobs.deadline_at, running.lease_expires_at,
        coalesce(running.worker, jobs.worker) AS worker, NULL::text AS reason, jobs.metadata,
        jobs.errors, NULL::bytea AS result, jobs.payload, jobs.event
    FROM queuekit.jobs
    LEFT JOIN queuekit.running ON running.id = jobs.id
    UNION ALL
    SELECT
        done.id, done.queue, done.kind,
        CASE done.state WHEN 2 THEN 'completed' ELSE 'cancelled' END,
        done.rank, done.attempts, done.max_attempts, done.lane, done.idempotency_key,
        done.created_at, done.scheduled_at, done.started_at, done.finished_at, done.deadline_at,
        NULL, done.worker, NULL, done.metadata, done.errors, done.result, done.payload, done.event
    FROM queuekit.done
    UNION ALL
    SELECT
        dead.id, dead.queue, dead.kind, 'dead', dead.rank, dead.attempts, dead.max_attempts,
        dead.lane, dead.idempotency_key, dead.created_at, dead.scheduled_at, dead.started_at,
        dead.finished_at, dead.deadline_at, NULL, dead.worker, dead.reason, dead.metadata,
        dead.errors, NULL, dead.payload, NULL::bigint
    FROM queuekit.dead
) AS job
LEFT JOIN queuekit.queues ON queues.id = job.queue
LEFT JOIN queuekit.events ON events.seq = job.event;
