-- queuekit, schema version 2: for people at psql, and for programs in other languages.
--
-- Purpose: a function that enqueues in the caller's transaction, one that makes queues, and views
-- of jobs and queues. Where another schema than `queuekit` was chosen, each `queuekit.` below is
-- replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.
--
-- Roles. Who has USAGE of the schema may be given any of these alone:
--   to enqueue:  EXECUTE on the functions of the schema. enqueue() acts as its owner, so this
--                needs no right on any table and lets nobody read a job;
--   to look:     SELECT on job_list and queue_list;
--   to make queues by create_queue(): SELECT, INSERT and UPDATE on queues.

-- The id of a new job: a UUIDv7 that ends in the first two bytes of SHA-256 of its queue's name.
CREATE FUNCTION queuekit.job_id(queue text, now_ms bigint) RETURNS uuid
LANGUAGE sql VOLATILE
AS $$
    SELECT encode(
        substring(int8send(greatest(now_ms, 0)) FROM 3)
        || set_byte(random.bytes, 0, 112 | (get_byte(random.bytes, 0) & 15))
        || substring(sha256(convert_to(queue, 'UTF8')) FOR 2),
        'hex'
    )::uuid
    -- Bytes 7 to 14 of a random UUID: those of its version and its variant are in place.
    FROM (SELECT substring(uuid_send(gen_random_uuid()) FROM 7 FOR 8) AS bytes OFFSET 0) AS random
$$;

-- What names of queues and kinds are like.
CREATE FUNCTION queuekit.is_name(name text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$ SELECT coalesce(name COLLATE "C" ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$', false) $$;

-- What is wrong with the name of a queue; NULL if nothing is.
CREATE FUNCTION queuekit.queue_name_fault(name text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE
        WHEN NOT queuekit.is_name(name) THEN
            format('queue must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(name, 40))
        WHEN name ~ '^(event|queuekit)[.]' THEN
            format('queue must be outside the reserved prefixes; got %L', left(name, 40))
    END
$$;

-- What is wrong with a key, as queue_name_fault.
CREATE FUNCTION queuekit.key_fault(field text, key text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN octet_length(convert_to(key, 'UTF8')) NOT BETWEEN 1 AND 256 THEN
        format('%s must be 1..=256 bytes; got %s', field, octet_length(convert_to(key, 'UTF8')))
    END
$$;

-- What is wrong with metadata, as queue_name_fault.
CREATE FUNCTION queuekit.metadata_fault(metadata jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    bytes bigint;
BEGIN
    IF jsonb_typeof(metadata) <> 'object' OR EXISTS (
        SELECT FROM jsonb_each(metadata) AS pair WHERE jsonb_typeof(pair.value) <> 'string'
    ) THEN
        RETURN 'metadata must be a JSON object whose values are strings';
    END IF;
    bytes := (
        SELECT coalesce(sum(octet_length(convert_to(pair.key || pair.value, 'UTF8'))), 0)
        FROM jsonb_each_text(metadata) AS pair
    );
    IF bytes > 4096 THEN
        RETURN format('metadata must be at most 4096 bytes; got %s', bytes);
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a number, as queue_name_fault.
CREATE FUNCTION queuekit.range_fault(field text, value bigint, lowest bigint, highest bigint)
RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN value NOT BETWEEN lowest AND highest THEN
        format('%s must be %s..=%s; got %s', field, lowest, highest, value)
    END
$$;

-- create_queue(), also of a reserved name.
CREATE FUNCTION queuekit.open_queue(name text, takes_keys boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM queuekit.queues
    WHERE queues.name = open_queue.name AND queues.removed_by IS NULL
        AND queues.keyed >= takes_keys;
    IF FOUND THEN
        RETURN;
    END IF;
    IF (
        SELECT count(*)
        FROM queuekit.queues
        WHERE queues.removed_by IS NULL AND queues.name <> open_queue.name
    ) >= 10000 THEN
        RAISE EXCEPTION 'queues: at most 10000 queues are kept'
        USING ERRCODE = 'configuration_limit_exceeded', HINT = 'Remove some that are not used.';
    END IF;
    INSERT INTO queuekit.queues (name, keyed)
    VALUES (open_queue.name, takes_keys)
    ON CONFLICT (name) DO UPDATE
    SET removed_by = NULL, removal_seen = false, keyed = queues.keyed OR excluded.keyed;
END
$$;

-- Makes sure that a queue exists, and that it takes partition keys if `keyed`. Until the
-- transaction commits, others who make the same queue wait: let it have one of its own.
CREATE FUNCTION queuekit.create_queue(name text, keyed boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fault text := queuekit.queue_name_fault(create_queue.name);
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM queuekit.open_queue(create_queue.name, coalesce(create_queue.keyed, false));
END
$$;

-- Stores a job in the caller's transaction: it exists if and only if that commits. Returns its
-- id, or that of the job which holds the same idempotency key in the queue.
--
-- NULL stands for an argument's default. It acts as its owner: who may call it needs no right on
-- any table. While the transaction is open nobody waits for it, but those who enqueue with the
-- same idempotency key. `notify` wakes the workers at the commit, and commits that do so wait for
-- each other; without it they look within their poll interval.
--
-- SQLSTATE: 22023 an argument breaks its limit; 42704 no such queue; 55000 the queue takes no
-- partition keys; 53400 the queue is full.
CREATE FUNCTION queuekit.enqueue(
    queue text,
    kind text,
    payload bytea,
    priority int DEFAULT 10,
    max_attempts int DEFAULT 3,
    delay_ms bigint DEFAULT 0,
    run_at timestamptz DEFAULT NULL,
    idempotency_key text DEFAULT NULL,
    unique_until_done boolean DEFAULT false,
    partition_key text DEFAULT NULL,
    timeout_ms bigint DEFAULT 1800000,
    deadline_ms bigint DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    notify boolean DEFAULT true
) RETURNS uuid
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    year_ms CONSTANT bigint := 366 * 86400000::bigint;
    now_ms bigint := queuekit.now_ms();
    fault text;
    home queuekit.queues;
    place bigint;
    new_id uuid;
    holder uuid;
    lane text;
    due bigint;
BEGIN
    priority := coalesce(priority, 10);
    max_attempts := coalesce(max_attempts, 3);
    delay_ms := coalesce(delay_ms, 0);
    timeout_ms := coalesce(timeout_ms, 1800000);
    fault := coalesce(
        queuekit.queue_name_fault(queue),
        CASE
            WHEN NOT queuekit.is_name(kind) THEN
                format('kind must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(kind, 40))
            WHEN payload IS NULL THEN 'payload must be there; got NULL'
            WHEN length(payload) > 1048576 THEN
                format('payload must be at most 1048576 bytes; got %s', length(payload))
            WHEN run_at IS NOT NULL AND delay_ms <> 0 THEN
                'run_at must be alone; got delay_ms, too'
            WHEN NOT isfinite(run_at)
                OR run_at > to_timestamp(now_ms / 1000.0) + interval '366 days' THEN
                format('run_at must be at most 366 days ahead; got %s', run_at)
        END,
        queuekit.key_fault('partition_key', partition_key),
        queuekit.key_fault('idempotency_key', idempotency_key),
        queuekit.range_fault('priority', priority, 0, 31),
        queuekit.range_fault('max_attempts', max_attempts, 1, 1000),
        queuekit.range_fault('delay_ms', delay_ms, 0, year_ms),
        queuekit.range_fault('timeout_ms', timeout_ms, 1, year_ms),
        queuekit.range_fault('deadline_ms', deadline_ms, 1, year_ms),
        CASE WHEN metadata IS NOT NULL THEN queuekit.metadata_fault(metadata) END
    );
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Nothing was stored. The limits are those of docs/semantics.md, R12.';
    END IF;

    -- A removed queue is kept for the transactions that have begun before: be one.
    PERFORM pg_current_xact_id();
    SELECT queues.* INTO home
    FROM queuekit.queues
    WHERE queues.name = enqueue.queue AND queues.removed_by IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no queue %', quote_literal(enqueue.queue) USING
            ERRCODE = 'undefined_object',
            HINT = format('SELECT queuekit.create_queue(%L);', enqueue.queue);
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        -- It looks at the past: the queue may have been removed since. It fails with 40001 if it
        -- was forgotten already, and keeps it from being forgotten else.
        PERFORM FROM queuekit.queues WHERE queues.id = home.id FOR KEY SHARE;
    END IF;
    IF partition_key IS NOT NULL AND NOT home.keyed THEN
        RAISE EXCEPTION 'the queue % takes no partition keys', quote_literal(enqueue.queue) USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = format('SELECT queuekit.create_queue(%L, keyed => true);', enqueue.queue);
    END IF;

    new_id := queuekit.job_id(enqueue.queue, now_ms);
    LOOP
        IF idempotency_key IS NOT NULL THEN
            DELETE FROM queuekit.idempotency AS held
            WHERE held.queue = enqueue.queue AND held.key = idempotency_key
                AND held.free_at <= now_ms;
            SELECT held.job INTO holder
            FROM queuekit.idempotency AS held
            WHERE held.queue = enqueue.queue AND held.key = idempotency_key;
            IF FOUND THEN
                RETURN holder;
            END IF;
        END IF;
        -- Asked alone, because the jobs are counted whatever it is compared with.
        IF home.max_pending IS NULL THEN
            NULL;
        ELSIF home.max_pending <= (
            SELECT coalesce(sum(part.pending), 0)
            FROM (
                SELECT counts.pending FROM queuekit.counts WHERE counts.queue = home.id
                UNION ALL
                SELECT deltas.pending FROM queuekit.deltas WHERE deltas.queue = home.id
            ) AS part
        ) THEN
            RAISE EXCEPTION 'the queue % is full', quote_literal(enqueue.queue) USING
                ERRCODE = 'configuration_limit_exceeded',
                DETAIL = format('It may hold %s waiting jobs (max_pending).', home.max_pending),
                HINT = 'Nothing was stored; try again in a second.';
        END IF;
        EXIT WHEN idempotency_key IS NULL;
        INSERT INTO queuekit.idempotency (queue, key, job)
        VALUES (enqueue.queue, idempotency_key, new_id)
        ON CONFLICT (queue, key) DO NOTHING;
        -- Else somebody was quicker: either holds it now, or has let go of it.
        EXIT WHEN FOUND;
    END LOOP;

    place := nextval('queuekit.places');
    lane := CASE WHEN partition_key IS NOT NULL THEN partition_key WHEN home.is_fair THEN '' END;
    due := greatest(coalesce(ceil(extract(epoch FROM run_at) * 1000), now_ms + delay_ms), now_ms);
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
        max_attempts, unique_until_done, later, kind, lane, idempotency_key, metadata, payload
    ) VALUES (
        new_id, place, due, now_ms, enqueue.timeout_ms, enqueue.deadline_ms,
        now_ms + enqueue.deadline_ms, home.id, 31 - priority, enqueue.max_attempts,
        coalesce(enqueue.unique_until_done, false),
        partition_key IS NOT NULL AND due > now_ms,
        enqueue.kind, lane, enqueue.idempotency_key,
        nullif(enqueue.metadata, '{}')::text, enqueue.payload
    );
    IF partition_key IS NULL THEN
        INSERT INTO queuekit.ready (id, at, seq, queue, rank, lane)
        VALUES (new_id, due, place, home.id, 31 - priority, lane);
    ELSE
        INSERT INTO queuekit.agenda (at, queue, lane) VALUES (now_ms, home.id, lane);
    END IF;
    INSERT INTO queuekit.deltas (queue, pending) VALUES (home.id, 1);
    IF coalesce(notify, true) THEN
        PERFORM pg_notify('queuekit', enqueue.queue);
    END IF;
    RETURN new_id;
END
$$;

-- It may be called by whom it is granted to: it acts as its owner.
REVOKE EXECUTE ON FUNCTION queuekit.enqueue(
    text, text, bytea, int, int, bigint, timestamptz, text, boolean, text, bigint, bigint, jsonb,
    boolean
) FROM PUBLIC;

-- The same for payloads of other types, stored as their text in UTF-8. json and text are stored
-- as they are written; jsonb is in its own order, without what was written twice.
DO $do$
DECLARE
    payload_type text;
BEGIN
    FOREACH payload_type IN ARRAY '{text, json, jsonb}'::text[] LOOP
        EXECUTE format($create$
            CREATE FUNCTION queuekit.enqueue(
                queue text,
                kind text,
                payload %s,
                priority int DEFAULT 10,
                max_attempts int DEFAULT 3,
                delay_ms bigint DEFAULT 0,
                run_at timestamptz DEFAULT NULL,
                idempotency_key text DEFAULT NULL,
                unique_until_done boolean DEFAULT false,
                partition_key text DEFAULT NULL,
                timeout_ms bigint DEFAULT 1800000,
                deadline_ms bigint DEFAULT NULL,
                metadata jsonb DEFAULT NULL,
                notify boolean DEFAULT true
            ) RETURNS uuid
            LANGUAGE sql
            AS $body$
                SELECT queuekit.enqueue(
                    queue, kind, pg_catalog.convert_to(payload::text, 'UTF8'), priority,
                    max_attempts, delay_ms, run_at, idempotency_key, unique_until_done,
                    partition_key, timeout_ms, deadline_ms, metadata, notify
                )
            $body$
        $create$, payload_type);
    END LOOP;
END
$do$;

-- A payload or result for people: as it is where it is JSON in UTF-8, else in hexadecimal.
CREATE FUNCTION queuekit.readable(content bytea) RETURNS text
LANGUAGE plpgsql STABLE STRICT
AS $$
DECLARE
    shown text;
BEGIN
    shown := convert_from(content, 'UTF8');
    -- json, not jsonb: whatever is well-formed will do, and nothing of it is changed.
    PERFORM shown::json;
    RETURN shown;
EXCEPTION
    WHEN others THEN
        RETURN '\x' || encode(content, 'hex');
END
$$;

CREATE FUNCTION queuekit.to_time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT
AS $$ SELECT to_timestamp(0) + ms * interval '1 millisecond' $$;

-- Every job. What makes a pending one wait is not told here: that depends on others of its key.
CREATE VIEW queuekit.job_list AS
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
    queuekit.readable(job.payload) AS payload
FROM (
    SELECT
        jobs.id, jobs.queue, jobs.kind,
        CASE WHEN running.id IS NULL THEN 'pending' ELSE 'running' END AS state,
        jobs.rank, coalesce(running.attempts, jobs.attempts) AS attempts, jobs.max_attempts,
        jobs.lane, jobs.idempotency_key, jobs.created_at, jobs.scheduled_at,
        coalesce(running.started_at, jobs.started_at) AS started_at,
        NULL::bigint AS finished_at, jobs.deadline_at, running.lease_expires_at,
        coalesce(running.worker, jobs.worker) AS worker, NULL::text AS reason, jobs.metadata,
        jobs.errors, NULL::bytea AS result, jobs.payload
    FROM queuekit.jobs
    LEFT JOIN queuekit.running ON running.id = jobs.id
    UNION ALL
    SELECT
        done.id, done.queue, done.kind,
        CASE done.state WHEN 2 THEN 'completed' ELSE 'cancelled' END,
        done.rank, done.attempts, done.max_attempts, done.lane, done.idempotency_key,
        done.created_at, done.scheduled_at, done.started_at, done.finished_at, done.deadline_at,
        NULL, done.worker, NULL, done.metadata, done.errors, done.result, done.payload
    FROM queuekit.done
    UNION ALL
    SELECT
        dead.id, dead.queue, dead.kind, 'dead', dead.rank, dead.attempts, dead.max_attempts,
        dead.lane, dead.idempotency_key, dead.created_at, dead.scheduled_at, dead.started_at,
        dead.finished_at, dead.deadline_at, NULL, dead.worker, dead.reason, dead.metadata,
        dead.errors, NULL, dead.payload
    FROM queuekit.dead
) AS job
LEFT JOIN queuekit.queues ON queues.id = job.queue;

-- Every queue: its settings, and how many jobs it has in each state.
CREATE VIEW queuekit.queue_list AS
SELECT
    queues.name AS queue,
    queues.paused,
    queues.keyed,
    queues.is_fair,
    queues.per_key,
    queues.max_pending,
    total.pending,
    total.running,
    total.completed,
    total.dead,
    total.cancelled,
    total.corrupt
FROM queuekit.queues
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(part.pending), 0)::bigint AS pending,
        coalesce(sum(part.running), 0)::bigint AS running,
        coalesce(sum(part.completed), 0)::bigint AS completed,
        coalesce(sum(part.dead), 0)::bigint AS dead,
        coalesce(sum(part.cancelled), 0)::bigint AS cancelled,
        coalesce(sum(part.corrupt), 0)::bigint AS corrupt
    FROM (
        SELECT
            counts.pending, counts.running, counts.completed, counts.dead, counts.cancelled,
            counts.corrupt
        FROM queuekit.counts
        WHERE counts.queue = queues.id
        UNION ALL
        SELECT
            deltas.pending, deltas.running, deltas.completed, deltas.dead, deltas.cancelled,
            deltas.corrupt
        FROM queuekit.deltas
        WHERE deltas.queue = queues.id
    ) AS part
) AS total
WHERE queues.removed_by IS NULL;
