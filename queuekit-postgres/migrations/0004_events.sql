-- queuekit, schema version 4: events.
--
-- Purpose: the log of events, who wants which, and deliveries that leave large data with their
-- event. Where another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; ACCESS EXCLUSIVE on jobs and
-- done, for as long as it takes to add a column without values.

-- Subscriptions and retention; one row, changed as a whole.
CREATE TABLE queuekit.event_settings (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version bigint NOT NULL,
    body bytea NOT NULL
);

INSERT INTO queuekit.event_settings (version, body) VALUES (0, '');

-- The version of the settings by which deliveries may be made. Nobody changes it until the
-- transaction ends; those who emit do not wait for each other. It reads the version as of the end
-- of its wait; a transaction with an older snapshot fails if the version has changed since.
CREATE FUNCTION queuekit.event_version(lock_class int) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    held bigint;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(lock_class, -2);
    IF current_setting('transaction_isolation') = 'read committed' THEN
        SELECT settings.version INTO held FROM queuekit.event_settings AS settings;
    ELSE
        SELECT settings.version INTO held FROM queuekit.event_settings AS settings FOR SHARE;
    END IF;
    RETURN held;
END
$$;

-- One for each event, by which retention counts.
CREATE SEQUENCE queuekit.event_numbers AS bigint;

-- The log, a partition per day (event_add_day). A place in it is the day since 1970, and below it,
-- in 44 bits, the event's number.
CREATE TABLE queuekit.events (
    seq bigint PRIMARY KEY,
    emitted_at bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    partition_key text,
    idempotency_key text,
    metadata text,
    data bytea NOT NULL
) PARTITION BY RANGE (seq);

-- Which event has which id and idempotency key. They are unique over all days, and free once the
-- event is gone: a row may outlive its event, and says nothing then.
CREATE TABLE queuekit.event_ids (
    id uuid PRIMARY KEY,
    seq bigint NOT NULL,
    -- For an event with an idempotency key.
    kind text COLLATE "C",
    idempotency_key text COLLATE "C"
);

CREATE INDEX event_ids_seq ON queuekit.event_ids (seq);
CREATE UNIQUE INDEX event_ids_key ON queuekit.event_ids (kind, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- For a delivery whose payload is large: the place of its event, which has the payload. Dead ones
-- have a copy.
ALTER TABLE queuekit.jobs ADD COLUMN event bigint;
ALTER TABLE queuekit.done ADD COLUMN event bigint;

CREATE INDEX jobs_event ON queuekit.jobs (event) WHERE event IS NOT NULL;

-- As history_add_day, for the log.
CREATE FUNCTION queuekit.event_add_day(instant_ms bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    day bigint := floor(instant_ms / 86400000.0)::bigint;
    first bigint := day << 44;
    name text := format('events_%s', to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC',
                                             'YYYYMMDD'));
    owner text := (
        SELECT pg_get_userbyid(class.relowner)
        FROM pg_class AS class
        WHERE class.oid = 'queuekit.events'::regclass
    );
BEGIN
    IF to_regclass(format('%I.%I', 'queuekit', name)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE %1$I.%2$I (LIKE %1$I.events, CHECK (seq >= %3$s AND seq < %4$s))',
        'queuekit', name, first, (day + 1) << 44);
    EXECUTE format('ALTER TABLE %I.%I OWNER TO %I', 'queuekit', name, owner);
    EXECUTE format(
        'ALTER TABLE %1$I.events ATTACH PARTITION %1$I.%2$I FOR VALUES FROM (%3$s) TO (%4$s)',
        'queuekit', name, first, (day + 1) << 44);
END
$$;

-- As before, with payloads of deliveries.
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
    job.errors,
    queuekit.readable(job.result) AS result,
    queuekit.readable(coalesce(events.data, job.payload)) AS payload
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
