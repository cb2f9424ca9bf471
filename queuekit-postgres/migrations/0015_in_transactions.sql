-- queuekit, schema version 15: whole calls by SQL, for every driver.
--
-- Purpose: enqueue_many() stores several jobs and ack() completes one, in the caller's transaction
-- (contract R2.9, R3.4), so that a program needs no store to do so. Where another schema than
-- `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.

-- A job to store. NULL stands for a field's default. `place` is where it stands in its call, from
-- 1, and `id` the one that the caller chose, if any.
CREATE TYPE queuekit.new_job AS (
    place int,
    id uuid,
    queue text,
    kind text,
    payload bytea,
    priority int,
    max_attempts int,
    delay_ms bigint,
    run_at timestamptz,
    idempotency_key text,
    unique_until_done boolean,
    partition_key text,
    timeout_ms bigint,
    deadline_ms bigint,
    metadata jsonb
);

-- The bytes of names and values together.
CREATE FUNCTION queuekit.metadata_bytes(metadata jsonb) RETURNS bigint
LANGUAGE sql STABLE
RETURN (
    SELECT coalesce(sum(octet_length(convert_to(pair.key || pair.value, 'UTF8'))), 0)
    FROM jsonb_each_text(metadata) AS pair
);

-- As before, and at most 64 names: however short it is, each takes some hundred bytes of a reader.
CREATE OR REPLACE FUNCTION queuekit.metadata_fault(metadata jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bytes bigint;
    names bigint;
BEGIN
    IF jsonb_typeof(metadata) <> 'object' OR EXISTS (
        SELECT FROM jsonb_each(metadata) AS pair WHERE jsonb_typeof(pair.value) <> 'string'
    ) THEN
        RETURN 'metadata must be a JSON object whose values are strings';
    END IF;
    bytes := queuekit.metadata_bytes(metadata);
    IF bytes > 4096 THEN
        RETURN format('metadata must be at most 4096 bytes; got %s', bytes);
    END IF;
    SELECT count(*) INTO names FROM jsonb_object_keys(metadata);
    IF names > 64 THEN
        RETURN format('metadata must be at most 64 names; got %s', names);
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a job, as queue_name_fault.
CREATE FUNCTION queuekit.job_fault(job queuekit.new_job, now_ms bigint) RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(
    queuekit.queue_name_fault(job.queue),
    CASE
        WHEN NOT queuekit.is_name(job.kind) THEN
            format('kind must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(job.kind, 40))
        WHEN job.payload IS NULL THEN 'payload must be there; got NULL'
        WHEN length(job.payload) > 1048576 THEN
            format('payload must be at most 1048576 bytes; got %s', length(job.payload))
        WHEN job.run_at IS NOT NULL AND coalesce(job.delay_ms, 0) <> 0 THEN
            'run_at must be alone; got delay_ms, too'
        WHEN NOT isfinite(job.run_at)
            OR extract(epoch FROM job.run_at) * 1000 > now_ms + 366 * 86400000::bigint THEN
            'run_at must be at most 366 days ahead'
        WHEN job.unique_until_done AND job.idempotency_key IS NULL THEN
            'unique_until_done must be set together with an idempotency_key; got none'
        -- Guard: a UUIDv8 is derived (contract R2.4). A job that is derived later would count as
        -- stored.
        WHEN get_byte(uuid_send(job.id), 6) >> 4 = 8
            OR substring(uuid_send(job.id) FROM 15)
                <> substring(sha256(convert_to(job.queue, 'UTF8')) FOR 2) THEN
            format('id must be a UUIDv7 with the tag of its queue; got %s', job.id)
        WHEN job.metadata IS NOT NULL THEN queuekit.metadata_fault(job.metadata)
    END,
    queuekit.key_fault('partition_key', job.partition_key),
    queuekit.key_fault('idempotency_key', job.idempotency_key),
    queuekit.range_fault('priority', job.priority, 0, 31),
    queuekit.range_fault('max_attempts', job.max_attempts, 1, 1000),
    queuekit.range_fault('delay_ms', job.delay_ms, 0, 366 * 86400000::bigint),
    queuekit.range_fault('timeout_ms', job.timeout_ms, 1, 366 * 86400000::bigint),
    queuekit.range_fault('deadline_ms', job.deadline_ms, 1, 366 * 86400000::bigint)
);

-- When a job may first run.
CREATE FUNCTION queuekit.due_ms(job queuekit.new_job, now_ms bigint) RETURNS bigint
LANGUAGE sql STABLE
RETURN greatest(
    coalesce(
        ceil(extract(epoch FROM job.run_at) * 1000)::bigint, now_ms + coalesce(job.delay_ms, 0)
    ),
    now_ms
);

-- Stores a job that has no fault, for enqueue() and enqueue_many(), which act as their owner.
-- `seq` is where it stands in its queue. The outcome is created, duplicate, conflict or queue_full,
-- as core has them, and `id` is that of the job that is stored now.
CREATE FUNCTION queuekit.store_job(
    job queuekit.new_job, seq bigint, now_ms bigint, OUT outcome text, OUT id uuid
)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    home queuekit.queues;
    new_id uuid := coalesce(job.id, queuekit.job_id(job.queue, now_ms));
    due CONSTANT bigint := queuekit.due_ms(job, now_ms);
    holder uuid;
    is_same boolean;
BEGIN
    SELECT queues.* INTO home
    FROM queuekit.queues
    WHERE queues.name = job.queue AND queues.removed_by IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no queue %', quote_literal(job.queue) USING
            ERRCODE = 'undefined_object',
            HINT = format('SELECT queuekit.create_queue(%L);', job.queue);
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        -- It looks at the past: the queue may have been removed since. It fails with 40001 if it
        -- was forgotten already, and keeps it from being forgotten else.
        PERFORM FROM queuekit.queues WHERE queues.id = home.id FOR KEY SHARE;
    END IF;
    IF job.partition_key IS NOT NULL AND NOT home.keyed THEN
        RAISE EXCEPTION 'the queue % takes no partition keys', quote_literal(job.queue) USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = format('SELECT queuekit.create_queue(%L, keyed => true);', job.queue);
    END IF;

    LOOP
        IF job.id IS NOT NULL THEN
            SELECT jobs.queue = home.id AND jobs.kind = job.kind AND jobs.payload = job.payload
            INTO is_same
            FROM queuekit.jobs
            WHERE jobs.id = job.id;
            IF FOUND THEN
                id := job.id;
                outcome := CASE WHEN is_same THEN 'duplicate' ELSE 'conflict' END;
                RETURN;
            END IF;
        END IF;
        IF job.idempotency_key IS NOT NULL THEN
            DELETE FROM queuekit.idempotency AS held
            WHERE held.queue = job.queue AND held.key = job.idempotency_key
                AND held.free_at <= now_ms;
            SELECT held.job INTO holder
            FROM queuekit.idempotency AS held
            WHERE held.queue = job.queue AND held.key = job.idempotency_key;
            IF FOUND THEN
                id := holder;
                outcome := 'duplicate';
                RETURN;
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
            outcome := 'queue_full';
            RETURN;
        END IF;
        IF job.idempotency_key IS NOT NULL THEN
            INSERT INTO queuekit.idempotency (queue, key, job)
            VALUES (job.queue, job.idempotency_key, new_id)
            ON CONFLICT (queue, key) DO NOTHING;
            -- Else somebody was quicker: either holds it now, or has let go of it.
            CONTINUE WHEN NOT FOUND;
        END IF;
        INSERT INTO queuekit.jobs (
            id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
            max_attempts, unique_until_done, later, kind, lane, idempotency_key, metadata, payload
        ) VALUES (
            new_id, store_job.seq, due, now_ms, coalesce(job.timeout_ms, 1800000), job.deadline_ms,
            now_ms + job.deadline_ms, home.id, 31 - coalesce(job.priority, 10),
            coalesce(job.max_attempts, 3), coalesce(job.unique_until_done, false),
            job.partition_key IS NOT NULL AND due > now_ms, job.kind, job.partition_key,
            job.idempotency_key, nullif(job.metadata, '{}')::text, job.payload
        )
        ON CONFLICT (id) DO NOTHING;
        EXIT WHEN FOUND;
        -- Somebody was quicker with this id, and has it now: give the key back and look again.
        DELETE FROM queuekit.idempotency AS held
        WHERE held.queue = job.queue AND held.key = job.idempotency_key AND held.job = new_id;
    END LOOP;

    IF job.partition_key IS NULL THEN
        INSERT INTO queuekit.ready (id, at, seq, queue, rank)
        VALUES (new_id, due, store_job.seq, home.id, 31 - coalesce(job.priority, 10));
    ELSE
        INSERT INTO queuekit.agenda (at, queue, lane) VALUES (now_ms, home.id, job.partition_key);
    END IF;
    INSERT INTO queuekit.deltas (queue, pending) VALUES (home.id, 1);
    id := new_id;
    outcome := 'created';
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.store_job(queuekit.new_job, bigint, bigint) FROM PUBLIC;

-- As before, by store_job().
CREATE OR REPLACE FUNCTION queuekit.enqueue(
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
DECLARE
    now_ms CONSTANT bigint := queuekit.now_ms();
    job CONSTANT queuekit.new_job := (
        1, NULL, queue, kind, payload, priority, max_attempts, delay_ms, run_at, idempotency_key,
        unique_until_done, partition_key, timeout_ms, deadline_ms, metadata
    );
    fault CONSTANT text := queuekit.job_fault(job, now_ms);
    stored record;
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Nothing was stored. The limits are those of docs/semantics.md, R12.';
    END IF;
    -- A removed queue is kept for the transactions that have begun before: be one.
    PERFORM pg_current_xact_id();
    stored := queuekit.store_job(job, nextval('queuekit.places'), now_ms);
    IF stored.outcome = 'queue_full' THEN
        RAISE EXCEPTION 'the queue % is full', quote_literal(enqueue.queue) USING
            ERRCODE = 'configuration_limit_exceeded',
            DETAIL = (
                SELECT format('It may hold %s waiting jobs (max_pending).', queues.max_pending)
                FROM queuekit.queues
                WHERE queues.name = enqueue.queue
            ),
            HINT = 'Nothing was stored; try again in a second.';
    END IF;
    IF coalesce(notify, true) AND stored.outcome = 'created' THEN
        PERFORM pg_notify('queuekit', enqueue.queue);
    END IF;
    RETURN stored.id;
END
$$;

-- The jobs in a JSON array, in its order: what they are checked for by type alone.
CREATE FUNCTION queuekit.jobs_of_json(jobs json) RETURNS queuekit.new_job[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fields CONSTANT text[] := '{
        id, queue, kind, payload, payload_base64, priority, max_attempts, delay_ms, run_at,
        idempotency_key, unique_until_done, partition_key, timeout_ms, deadline_ms, metadata
    }';
    fault text;
BEGIN
    fault := CASE
        WHEN json_typeof(jobs) IS DISTINCT FROM 'array' THEN 'jobs must be a JSON array'
        WHEN json_array_length(jobs) > 1000 THEN
            format('jobs must be at most 1000; got %s', json_array_length(jobs))
        ELSE (
            SELECT format('job %s: it must be a JSON object', job.place)
            FROM json_array_elements(jobs) WITH ORDINALITY AS job (object, place)
            WHERE json_typeof(job.object) <> 'object'
            LIMIT 1
        )
    END;
    IF fault IS NULL THEN
        fault := (
            SELECT format('job %s: there is no field %L', job.place, left(field, 40))
            FROM json_array_elements(jobs) WITH ORDINALITY AS job (object, place)
            CROSS JOIN json_object_keys(job.object) AS field
            WHERE field <> ALL (fields)
            LIMIT 1
        );
    END IF;
    IF fault IS NULL THEN
        fault := (
            SELECT format(
                'job %s: payload must be alone; got payload_base64, too', job.place
            )
            FROM json_array_elements(jobs) WITH ORDINALITY AS job (object, place)
            WHERE (job.object -> 'payload') IS NOT NULL
                AND (job.object ->> 'payload_base64') IS NOT NULL
            LIMIT 1
        );
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was stored.';
    END IF;
    RETURN ARRAY(
        SELECT (
            job.place, field.id, coalesce(field.queue, 'default'), field.kind,
            coalesce(
                -- As it is written, also if it is null.
                convert_to((job.object -> 'payload')::text, 'UTF8'),
                decode(field.payload_base64, 'base64'), 'null'
            ),
            field.priority, field.max_attempts, field.delay_ms, field.run_at,
            field.idempotency_key, field.unique_until_done, field.partition_key, field.timeout_ms,
            field.deadline_ms, field.metadata
        )::queuekit.new_job
        FROM json_array_elements(jobs) WITH ORDINALITY AS job (object, place)
        CROSS JOIN json_to_record(job.object) AS field (
            id uuid, queue text, kind text, payload_base64 text, priority int, max_attempts int,
            delay_ms bigint, run_at timestamptz, idempotency_key text, unique_until_done boolean,
            partition_key text, timeout_ms bigint, deadline_ms bigint, metadata jsonb
        )
        ORDER BY job.place
    );
END
$$;

-- Stores jobs in the caller's transaction: they exist if and only if it commits. `jobs` is an array
-- of at most 1,000 objects, with the arguments of enqueue() as their fields, and `id`; the payload
-- is in `payload` as JSON or in `payload_base64`, null if it is missing, and the queue is `default`
-- if it is missing.
-- Answers a row per job, in no order: its place in the array from 1, its outcome (created,
-- duplicate, conflict or queue_full), and the id of the job that is stored, if one is.
--
-- SQLSTATE: those of enqueue(), but a full queue is an outcome.
CREATE FUNCTION queuekit.enqueue_many(jobs json, notify boolean DEFAULT true)
RETURNS TABLE (place int, outcome text, id uuid)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    now_ms CONSTANT bigint := queuekit.now_ms();
    base CONSTANT bigint := nextval('queuekit.places');
    asked CONSTANT queuekit.new_job[] := queuekit.jobs_of_json(jobs);
    fault text;
    places int[];
    ids uuid[];
    job queuekit.new_job;
BEGIN
    fault := (
        SELECT format('job %s: %s', asked_job.place, found.fault)
        FROM unnest(asked) AS asked_job
        CROSS JOIN LATERAL (SELECT queuekit.job_fault(asked_job, now_ms) AS fault) AS found
        WHERE found.fault IS NOT NULL
        LIMIT 1
    );
    IF fault IS NULL AND 8388608 < (
        SELECT
            sum(length(asked_job.payload))
            + coalesce(sum(queuekit.metadata_bytes(asked_job.metadata)), 0)
        FROM unnest(asked) AS asked_job
    ) THEN
        fault := 'jobs must be at most 8388608 bytes of payloads and metadata';
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Nothing was stored. The limits are those of docs/semantics.md, R12.';
    END IF;
    PERFORM pg_current_xact_id();

    -- Those that need no look at others are stored together.
    WITH known AS MATERIALIZED (
        SELECT queues.id, queues.name, queues.keyed
        FROM queuekit.queues
        WHERE
            queues.name IN (SELECT asked_job.queue FROM unnest(asked) AS asked_job)
            AND queues.removed_by IS NULL AND queues.max_pending IS NULL
            AND current_setting('transaction_isolation') = 'read committed'
    ),
    body AS (
        INSERT INTO queuekit.jobs (
            id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
            max_attempts, unique_until_done, later, kind, lane, metadata, payload
        )
        SELECT
            coalesce(plain.id, queuekit.job_id(plain.queue, now_ms)),
            base + 1024 * (plain.place - 1), due.at, now_ms, coalesce(plain.timeout_ms, 1800000),
            plain.deadline_ms, now_ms + plain.deadline_ms, known.id,
            31 - coalesce(plain.priority, 10), coalesce(plain.max_attempts, 3), false,
            plain.partition_key IS NOT NULL AND due.at > now_ms, plain.kind, plain.partition_key,
            nullif(plain.metadata, '{}')::text, plain.payload
        FROM unnest(asked) AS plain
        CROSS JOIN LATERAL (SELECT queuekit.due_ms(plain, now_ms) AS at) AS due
        JOIN known
            ON known.name = plain.queue AND (known.keyed OR plain.partition_key IS NULL)
        WHERE plain.idempotency_key IS NULL
        ORDER BY plain.place
        ON CONFLICT (id) DO NOTHING
        RETURNING
            jobs.id, jobs.seq, jobs.scheduled_at, jobs.queue, jobs.rank, jobs.lane
    ),
    placed AS (
        INSERT INTO queuekit.ready (id, at, seq, queue, rank)
        SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank
        FROM body
        WHERE body.lane IS NULL
    ),
    visited AS (
        INSERT INTO queuekit.agenda (at, queue, lane)
        SELECT DISTINCT now_ms, body.queue, body.lane
        FROM body
        WHERE body.lane IS NOT NULL
    ),
    counted AS (
        INSERT INTO queuekit.deltas (queue, pending)
        SELECT body.queue, count(*)
        FROM body
        GROUP BY body.queue
    )
    SELECT
        coalesce(array_agg((body.seq - base) / 1024 + 1), '{}'), coalesce(array_agg(body.id), '{}')
    INTO places, ids
    FROM body;
    RETURN QUERY SELECT unnest(places), 'created', unnest(ids);

    FOR job IN
        SELECT other.*
        FROM unnest(asked) AS other
        WHERE other.place <> ALL (places)
        -- All calls take keys in the same order, so that no two wait for each other.
        ORDER BY other.queue, other.idempotency_key NULLS FIRST, other.place
    LOOP
        place := job.place;
        SELECT stored.outcome, stored.id INTO outcome, id
        FROM queuekit.store_job(job, base + 1024 * (job.place - 1), now_ms) AS stored;
        RETURN NEXT;
    END LOOP;
    IF coalesce(notify, true) THEN
        PERFORM pg_notify('queuekit', told.queue)
        FROM (SELECT DISTINCT asked_job.queue FROM unnest(asked) AS asked_job) AS told;
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.enqueue_many(json, boolean) FROM PUBLIC;

-- The parts of a lease's token: the name of its queue, its job, its number and its nonce. It fails
-- if there is none.
CREATE FUNCTION queuekit.parts_of_token(token text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- What HTTP puts before a lease is for retries. The number of a lease has 64 bits, unsigned.
    parts CONSTANT text[] := regexp_match(
        token COLLATE "C",
        '^(?:[0-9]+(?:[.][A-Za-z0-9_-]*)?~)?'
        '([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})~([0-9a-f-]{36})~([0-9]{1,20})~([0-9a-f]{32})$'
    );
BEGIN
    IF parts IS NULL THEN
        RAISE EXCEPTION 'token must be a token from a reserve; got another text' USING
            ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was changed.';
    END IF;
    RETURN parts;
END
$$;

-- Completes a job in the caller's transaction: it is completed if and only if that commits. The
-- token is the one that the lease came with, from Rust or over HTTP. `result` is what the run
-- returned, at most 64 KiB, by convention JSON. Answers acked, already_done, lease_lost or
-- not_found, as core has them; after the last two, roll back. It acts as its owner: the token is
-- the right to call it.
--
-- SQLSTATE: 22023 it is not a token, or the result is too large.
CREATE FUNCTION queuekit.ack(token text, result bytea DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    parts CONSTANT text[] := queuekit.parts_of_token(token);
    now_ms CONSTANT bigint := queuekit.now_ms();
    job_id uuid;
    held queuekit.running;
    home queuekit.queues;
    body queuekit.jobs;
    window_ms bigint;
    before record;
BEGIN
    IF octet_length(result) > 65536 THEN
        RAISE EXCEPTION 'result must be at most 65536 bytes; got %', octet_length(result) USING
            ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was changed.';
    END IF;
    job_id := parts[2]::uuid;
    SELECT queues.* INTO home FROM queuekit.queues WHERE queues.name = parts[1];

    -- Guard: only the lease that the token names is ended (contract R3.3).
    DELETE FROM queuekit.running
    WHERE
        running.id = job_id AND running.nonce = parts[4]::uuid
        AND running.lease_seq = parts[3]::numeric AND running.queue = home.id
    RETURNING running.* INTO held;
    IF NOT FOUND THEN
        SELECT stored.* INTO before
        FROM (
            SELECT jobs.queue, false AS is_done
            FROM queuekit.jobs
            WHERE jobs.id = job_id
            UNION ALL
            SELECT
                done.queue,
                done.state = 2 AND done.nonce = parts[4]::uuid
                AND done.lease_seq = parts[3]::numeric
            FROM queuekit.done
            WHERE done.id = job_id
            UNION ALL
            SELECT dead.queue, false
            FROM queuekit.dead
            WHERE dead.id = job_id
        ) AS stored;
        RETURN CASE
            WHEN NOT FOUND THEN 'not_found'
            WHEN before.is_done AND before.queue = home.id THEN 'already_done'
            ELSE 'lease_lost'
        END;
    END IF;

    DELETE FROM queuekit.jobs WHERE jobs.id = job_id RETURNING jobs.* INTO body;
    INSERT INTO queuekit.done (
        id, nonce, finished_at, seq, lease_seq, scheduled_at, created_at, timeout_ms, deadline_ms,
        deadline_at, started_at, queue, releases, state, rank, attempts, max_attempts,
        unique_until_done, cancel_requested, kind, lane, idempotency_key, worker, moved_from,
        metadata, errors, result, payload, event
    ) VALUES (
        job_id, held.nonce, now_ms, body.seq, held.lease_seq, body.scheduled_at, body.created_at,
        body.timeout_ms, body.deadline_ms, body.deadline_at, held.started_at, body.queue,
        body.releases, 2, body.rank, held.attempts, body.max_attempts, body.unique_until_done,
        held.cancel_requested, body.kind, body.lane, body.idempotency_key, held.worker,
        body.moved_from, body.metadata, body.errors, ack.result, body.payload, body.event
    );
    IF body.idempotency_key IS NOT NULL THEN
        window_ms := CASE WHEN NOT body.unique_until_done THEN home.dedup_window_ms END;
        IF window_ms IS NULL THEN
            DELETE FROM queuekit.idempotency AS kept
            WHERE kept.queue = home.name AND kept.key = body.idempotency_key
                AND kept.job = job_id;
        ELSE
            UPDATE queuekit.idempotency AS kept
            SET free_at = now_ms + window_ms
            WHERE kept.queue = home.name AND kept.key = body.idempotency_key
                AND kept.job = job_id;
        END IF;
    END IF;
    IF body.lane > '' THEN
        INSERT INTO queuekit.agenda (at, queue, lane) VALUES (now_ms, body.queue, body.lane);
    END IF;
    INSERT INTO queuekit.deltas (queue, running, completed, completed_size, ended)
    VALUES (
        body.queue, -1, 1, length(body.payload) + coalesce(octet_length(ack.result), 0), 1
    );
    RETURN 'acked';
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.ack(text, bytea) FROM PUBLIC;

-- The same for results of other types, stored as enqueue() stores payloads of them.
DO $do$
DECLARE
    result_type text;
BEGIN
    FOREACH result_type IN ARRAY '{text, json, jsonb}'::text[] LOOP
        EXECUTE format($create$
            CREATE FUNCTION queuekit.ack(token text, result %s) RETURNS text
            LANGUAGE sql
            RETURN queuekit.ack(token, pg_catalog.convert_to(result::text, 'UTF8'))
        $create$, result_type);
    END LOOP;
END
$do$;
