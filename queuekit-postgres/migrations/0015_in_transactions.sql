-- queuekit, schema version 15: whole calls by SQL, for every driver.
--
-- Purpose: enqueue_many() stores several jobs, ack() completes one, and emit() stores events, in the
-- caller's transaction (contract R2.9, R3.4, R14.1), so that a program needs no store to do so.
-- Where another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
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

-- Which of these limits metadata exceeds, in the form of queue_name_fault.
CREATE FUNCTION queuekit.metadata_fault(metadata jsonb, most_bytes int, most_names int)
RETURNS text
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
    IF bytes > most_bytes THEN
        RETURN format('metadata must be at most %s bytes; got %s', most_bytes, bytes);
    END IF;
    SELECT count(*) INTO names FROM jsonb_object_keys(metadata);
    IF names > most_names THEN
        RETURN format('metadata must be at most %s names; got %s', most_names, names);
    END IF;
    RETURN NULL;
END
$$;

-- As before, and at most 64 names: however short it is, each takes some hundred bytes of a reader.
CREATE OR REPLACE FUNCTION queuekit.metadata_fault(metadata jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN queuekit.metadata_fault(metadata, 4096, 64);
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

-- Fails unless these are a JSON array of at most 1,000 objects of these fields, without both `body`
-- and `body`_base64. `item` is what an error calls one of them.
CREATE FUNCTION queuekit.check_items(items json, item text, body text, fields text[])
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fault text;
BEGIN
    fault := CASE
        WHEN json_typeof(items) IS DISTINCT FROM 'array' THEN
            format('%ss must be a JSON array', item)
        WHEN json_array_length(items) > 1000 THEN
            format('%ss must be at most 1000; got %s', item, json_array_length(items))
        ELSE (
            SELECT format('%s %s: it must be a JSON object', item, given.place)
            FROM json_array_elements(items) WITH ORDINALITY AS given (object, place)
            WHERE json_typeof(given.object) <> 'object'
            LIMIT 1
        )
    END;
    IF fault IS NULL THEN
        fault := (
            SELECT format('%s %s: there is no field %L', item, given.place, left(field, 40))
            FROM json_array_elements(items) WITH ORDINALITY AS given (object, place)
            CROSS JOIN json_object_keys(given.object) AS field
            WHERE field <> ALL (fields)
            LIMIT 1
        );
    END IF;
    IF fault IS NULL THEN
        fault := (
            SELECT format(
                '%s %s: %s must be alone; got %s_base64, too', item, given.place, body, body
            )
            FROM json_array_elements(items) WITH ORDINALITY AS given (object, place)
            WHERE (given.object -> body) IS NOT NULL
                AND (given.object ->> (body || '_base64')) IS NOT NULL
            LIMIT 1
        );
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was stored.';
    END IF;
END
$$;

-- The jobs in a JSON array, in its order: what they are checked for by type alone.
CREATE FUNCTION queuekit.jobs_of_json(jobs json) RETURNS queuekit.new_job[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM queuekit.check_items(jobs, 'job', 'payload', '{
        id, queue, kind, payload, payload_base64, priority, max_attempts, delay_ms, run_at,
        idempotency_key, unique_until_done, partition_key, timeout_ms, deadline_ms, metadata
    }');
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

-- An event to emit, as new_job. `id` is never NULL.
CREATE TYPE queuekit.new_event AS (
    place int,
    id uuid,
    kind text,
    data bytea,
    partition_key text,
    idempotency_key text,
    metadata jsonb,
    delay_ms bigint
);

-- What is wrong with an event, as queue_name_fault. Its deliveries have two names more than its
-- metadata: the id of the event, and how it is retried.
CREATE FUNCTION queuekit.event_fault(event queuekit.new_event) RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(
    CASE
        WHEN NOT queuekit.is_name(event.kind) THEN
            format('type must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(event.kind, 40))
        WHEN length(event.data) > 1048576 THEN
            format('data must be at most 1048576 bytes; got %s', length(event.data))
        WHEN get_byte(uuid_send(event.id), 6) >> 4 <> 7 THEN
            format('id must be a UUIDv7; got %s', event.id)
        WHEN event.metadata IS NOT NULL THEN queuekit.metadata_fault(event.metadata, 3584, 62)
    END,
    queuekit.key_fault('partition_key', event.partition_key),
    queuekit.key_fault('idempotency_key', event.idempotency_key),
    queuekit.range_fault('delay_ms', event.delay_ms, 0, 366 * 86400000::bigint)
);

-- The events in a JSON array, as jobs_of_json.
CREATE FUNCTION queuekit.events_of_json(events json, now_ms bigint) RETURNS queuekit.new_event[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM queuekit.check_items(events, 'event', 'data', '{
        id, type, data, data_base64, partition_key, idempotency_key, metadata, delay_ms
    }');
    RETURN ARRAY(
        SELECT (
            -- The tag of a queue at the end of its id is as good as any bytes.
            event.place, coalesce(field.id, queuekit.job_id('', now_ms)), field.type,
            coalesce(
                convert_to((event.object -> 'data')::text, 'UTF8'),
                decode(field.data_base64, 'base64'), 'null'
            ),
            field.partition_key, field.idempotency_key, field.metadata, field.delay_ms
        )::queuekit.new_event
        FROM json_array_elements(events) WITH ORDINALITY AS event (object, place)
        CROSS JOIN json_to_record(event.object) AS field (
            id uuid, type text, data_base64 text, partition_key text, idempotency_key text,
            metadata jsonb, delay_ms bigint
        )
        ORDER BY event.place
    );
END
$$;

-- The number that separates the advisory locks of this schema from those of others, as the Rust
-- code computes it (FNV-1a).
CREATE FUNCTION queuekit.lock_class() RETURNS int
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bits bigint := 2166136261;
    name CONSTANT bytea := 'queuekit';
BEGIN
    FOR at IN 0..length(name) - 1 LOOP
        bits := ((bits # get_byte(name, at)) * 16777619) & 4294967295;
    END LOOP;
    RETURN bits - (bits >> 31 << 32);
END
$$;

-- The id of the delivery of an event to the queue of a consumer: a UUIDv8 that core derives the same
-- way (contract R14.2).
CREATE FUNCTION queuekit.delivery_id(queue text, event uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN (
    SELECT encode(
        substring(uuid_send(event) FOR 6)
        || set_byte(
            set_byte(derived.bytes, 0, 128 | (get_byte(derived.bytes, 0) & 15)),
            2, 128 | (get_byte(derived.bytes, 2) & 63)
        )
        || substring(sha256(convert_to(queue, 'UTF8')) FOR 2),
        'hex'
    )::uuid
    FROM (
        SELECT substring(
            sha256(uuid_send(event) || convert_to(queue, 'UTF8') || '\x00'::bytea) FOR 8
        ) AS bytes
        OFFSET 0
    ) AS derived
);

-- A subscription, as core stores it in the settings of events.
CREATE TYPE queuekit.subscription AS (
    consumer text,
    events text,
    ordered boolean,
    fair boolean,
    enabled boolean,
    max_attempts int,
    timeout_ms bigint,
    delay_ms bigint,
    retry text
);

-- The subscriptions that make deliveries. They stay as they are until the transaction ends.
CREATE FUNCTION queuekit.hold_subscriptions() RETURNS queuekit.subscription[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Guard: nobody changes subscriptions while the transaction is open (contract R14.4).
    PERFORM queuekit.event_version(queuekit.lock_class());
    -- A statement of its own, so that it sees what was committed before the lock was granted.
    RETURN ARRAY(
        SELECT subscription
        FROM queuekit.event_settings AS settings
        CROSS JOIN json_each(
            convert_from(coalesce(nullif(settings.body, ''), '{}'), 'UTF8')::json
            -> 'subscriptions'
        ) AS stored
        CROSS JOIN json_populate_record(NULL::queuekit.subscription, stored.value) AS subscription
        WHERE subscription.enabled
    );
END
$$;

-- Whether the events of a subscription include those of a type.
CREATE FUNCTION queuekit.matches(pattern text, kind text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN pattern = '*' OR pattern = kind
    OR (right(pattern, 2) = '.*' AND starts_with(kind, left(pattern, -1)));

-- The next place in the log.
CREATE FUNCTION queuekit.next_event(now_ms bigint) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN (now_ms / 86400000 << 44) + nextval('queuekit.event_numbers');

-- Stores an event that has no fault, for emit(), which acts as its owner. `number` is its place in
-- the log, NULL if it has none yet. `job_seq` is the sequence of its deliveries in their queues.
-- The outcome is emitted, duplicate or conflict, as core has them, and `id` is that of the event
-- that is stored now.
CREATE FUNCTION queuekit.store_event(
    event queuekit.new_event, wanting queuekit.subscription[], number bigint, job_seq bigint,
    now_ms bigint, OUT outcome text, OUT id uuid
)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    -- In two parts, because the name of another schema would take the place of the whole.
    prefix CONSTANT text := 'queue' || 'kit.';
    -- Data that is larger is stored with the event, and not with each delivery.
    copied CONSTANT int := 1024;
    is_same boolean;
    holder uuid;
BEGIN
    LOOP
        SELECT stored.kind = event.kind AND stored.data = event.data
        INTO is_same
        FROM queuekit.event_ids AS taken
        JOIN queuekit.events AS stored ON stored.seq = taken.seq
        WHERE taken.id = event.id;
        IF FOUND THEN
            id := event.id;
            outcome := CASE WHEN is_same THEN 'duplicate' ELSE 'conflict' END;
            RETURN;
        END IF;
        SELECT taken.id INTO holder
        FROM queuekit.event_ids AS taken
        JOIN queuekit.events AS stored ON stored.seq = taken.seq
        WHERE taken.kind = event.kind AND taken.idempotency_key = event.idempotency_key;
        IF FOUND THEN
            id := holder;
            outcome := 'duplicate';
            RETURN;
        END IF;
        number := coalesce(number, queuekit.next_event(now_ms));
        INSERT INTO queuekit.event_ids (id, seq, kind, idempotency_key)
        VALUES (
            event.id, number, CASE WHEN event.idempotency_key IS NOT NULL THEN event.kind END,
            event.idempotency_key
        )
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        -- Another transaction was faster, or the event with the id or key has left the log.
        DELETE FROM queuekit.event_ids AS taken
        WHERE
            (
                taken.id = event.id
                OR taken.kind = event.kind AND taken.idempotency_key = event.idempotency_key
            )
            AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = taken.seq);
    END LOOP;

    INSERT INTO queuekit.events (
        seq, emitted_at, id, kind, partition_key, idempotency_key, metadata, data
    ) VALUES (
        number, now_ms, event.id, event.kind, event.partition_key, event.idempotency_key,
        nullif(event.metadata, '{}')::text, event.data
    );
    WITH body AS (
        INSERT INTO queuekit.jobs (
            id, seq, scheduled_at, created_at, timeout_ms, queue, rank, max_attempts,
            unique_until_done, later, kind, lane, metadata, payload, event
        )
        SELECT
            delivery.id, job_seq, now_ms + delivery.delay, now_ms, subscriber.timeout_ms, queues.id,
            21, subscriber.max_attempts, false,
            delivery.lane IS NOT NULL AND delivery.delay > 0, event.kind, delivery.lane,
            (
                coalesce(event.metadata, '{}')
                || jsonb_strip_nulls(jsonb_build_object(
                    prefix || 'event', event.id, prefix || 'retry', subscriber.retry
                ))
            )::text,
            CASE WHEN length(event.data) > copied THEN '' ELSE event.data END,
            CASE WHEN length(event.data) > copied THEN number END
        FROM unnest(wanting) AS subscriber
        JOIN queuekit.queues
            ON queues.name = 'event.' || subscriber.consumer AND queues.removed_by IS NULL
        CROSS JOIN LATERAL (
            SELECT
                queuekit.delivery_id(queues.name, event.id) AS id,
                least(
                    subscriber.delay_ms + coalesce(event.delay_ms, 0), 366 * 86400000::bigint
                ) AS delay,
                CASE WHEN subscriber.ordered OR subscriber.fair THEN event.partition_key END AS lane
        ) AS delivery
        WHERE
            queuekit.matches(subscriber.events, event.kind)
            -- A delivery that has outlived an earlier event of the same id is left as it is.
            AND NOT EXISTS (SELECT FROM queuekit.done WHERE done.id = delivery.id)
            AND NOT EXISTS (SELECT FROM queuekit.dead WHERE dead.id = delivery.id)
        ORDER BY delivery.id
        ON CONFLICT (id) DO NOTHING
        RETURNING jobs.id, jobs.scheduled_at, jobs.queue, jobs.rank, jobs.lane
    ),
    placed AS (
        INSERT INTO queuekit.ready (id, at, seq, queue, rank)
        SELECT body.id, body.scheduled_at, job_seq, body.queue, body.rank
        FROM body
        WHERE body.lane IS NULL
    ),
    visited AS (
        INSERT INTO queuekit.agenda (at, queue, lane)
        SELECT now_ms, body.queue, body.lane
        FROM body
        WHERE body.lane IS NOT NULL
    )
    INSERT INTO queuekit.deltas (queue, pending)
    SELECT body.queue, 1
    FROM body;
    id := event.id;
    outcome := 'emitted';
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.store_event(
    queuekit.new_event, queuekit.subscription[], bigint, bigint, bigint
) FROM PUBLIC;

-- Stores events and their deliveries in the caller's transaction: they exist if and only if it
-- commits. `events` is an array of at most 1,000 objects, as `POST /v1/events` takes them. While the
-- transaction is open, only those who emit the same id or key, and those who change subscriptions,
-- wait for it.
-- Answers a row per event, in no order: its place in the array from 1, its outcome (emitted,
-- duplicate or conflict), and the id of the event that is stored.
--
-- SQLSTATE: 22023 a field breaks its limit; 53400 there are too many queues for those of new
-- consumers; 23514 no upkeep has run for days.
CREATE FUNCTION queuekit.emit(events json, notify boolean DEFAULT true)
RETURNS TABLE (place int, outcome text, id uuid)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    now_ms CONSTANT bigint := queuekit.now_ms();
    base bigint;
    asked CONSTANT queuekit.new_event[] := queuekit.events_of_json(events, now_ms);
    wanting queuekit.subscription[];
    fault text;
    deliveries bigint;
    consumers text[];
    numbers bigint[];
    event queuekit.new_event;
    subscriber queuekit.subscription;
BEGIN
    fault := (
        SELECT format('event %s: %s', asked_event.place, found.fault)
        FROM unnest(asked) AS asked_event
        CROSS JOIN LATERAL (SELECT queuekit.event_fault(asked_event) AS fault) AS found
        WHERE found.fault IS NOT NULL
        LIMIT 1
    );
    IF fault IS NULL AND 8388608 < (
        SELECT
            sum(length(asked_event.data))
            + coalesce(sum(queuekit.metadata_bytes(asked_event.metadata)), 0)
        FROM unnest(asked) AS asked_event
    ) THEN
        fault := 'events must be at most 8388608 bytes of data and metadata';
    END IF;
    IF fault IS NULL THEN
        wanting := queuekit.hold_subscriptions();
        SELECT count(*), coalesce(array_agg(DISTINCT wants.consumer), '{}')
        INTO deliveries, consumers
        FROM unnest(asked) AS asked_event
        JOIN unnest(wanting) AS wants ON queuekit.matches(wants.events, asked_event.kind);
        IF deliveries > 10000 AND cardinality(asked) > 1 THEN
            fault := format(
                'events must be at most 10000 deliveries, emit fewer at once; got %s', deliveries
            );
        END IF;
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Nothing was stored. The limits are those of docs/semantics.md, R12.';
    END IF;
    PERFORM pg_current_xact_id();
    base := nextval('queuekit.places');

    FOR subscriber IN
        SELECT wants.*
        FROM unnest(wanting) AS wants
        WHERE wants.consumer = ANY (consumers)
        ORDER BY wants.consumer
    LOOP
        PERFORM queuekit.open_queue(
            'event.' || subscriber.consumer,
            coalesce(subscriber.ordered OR subscriber.fair, false)
        );
    END LOOP;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        -- As in store_job().
        PERFORM
        FROM queuekit.queues
        WHERE queues.name IN (SELECT 'event.' || consumer FROM unnest(consumers) AS consumer)
        ORDER BY queues.id
        FOR KEY SHARE;
    END IF;

    -- The log has the events in the order of the array. A refused event takes no number, because retention
    -- counts events by their numbers.
    numbers := ARRAY(
        SELECT
            CASE WHEN input.is_free THEN queuekit.next_event(now_ms) END
        FROM (
            SELECT
                row_number() OVER (PARTITION BY given.id ORDER BY given.place) = 1
                AND (
                    given.idempotency_key IS NULL
                    OR row_number() OVER (
                        PARTITION BY given.kind, given.idempotency_key ORDER BY given.place
                    ) = 1
                )
                AND NOT EXISTS (SELECT FROM queuekit.event_ids AS taken WHERE taken.id = given.id)
                AND NOT EXISTS (
                    SELECT FROM queuekit.event_ids AS taken
                    WHERE taken.kind = given.kind AND taken.idempotency_key = given.idempotency_key
                ) AS is_free
            FROM unnest(asked) AS given
            ORDER BY given.place
            OFFSET 0
        ) AS input
    );
    FOR event IN
        SELECT given.*
        FROM unnest(asked) AS given
        ORDER BY
            -- Of events with the same id the first is tried first.
            CASE WHEN cardinality(asked) > (
                SELECT count(DISTINCT other.id) FROM unnest(asked) AS other
            ) THEN given.place END,
            -- All calls take ids and keys in the same order, so that no two wait for each other.
            given.kind, given.idempotency_key,
            CASE WHEN given.idempotency_key IS NULL THEN given.id END, given.place
    LOOP
        place := event.place;
        SELECT stored.outcome, stored.id INTO outcome, id
        FROM queuekit.store_event(
            event, wanting, numbers[event.place], base + 1024 * (event.place - 1), now_ms
        ) AS stored;
        RETURN NEXT;
    END LOOP;
    IF coalesce(notify, true) THEN
        PERFORM pg_notify('queuekit', 'event.' || consumer) FROM unnest(consumers) AS consumer;
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.emit(json, boolean) FROM PUBLIC;
