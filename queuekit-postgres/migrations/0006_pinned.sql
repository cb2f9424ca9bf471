-- queuekit, schema version 6: jobs without a partition key are found by their rows in ready, and no
-- function runs what somebody else has put into a schema.
--
-- Purpose: an index by which a fair queue's jobs without a key are listed, whatever its order was
-- when they came; and functions that look for what they call in pg_catalog alone. Where another
-- schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; SHARE on ready, for as long
-- as the index takes: nobody enqueues or reserves meanwhile.

-- Until now jobs.lane was '' for jobs without a partition key in a fair queue, and listings went by
-- it. A job that ran while its queue became fair came back without it, and was listed nowhere. The
-- '' of old rows says no more than NULL.
-- Its condition is of its own: by that of others the planner may take it where it has to sort.
CREATE INDEX ready_plain ON queuekit.ready (queue, seq) WHERE coalesce(slot, -1) = -1;

-- A function of one expression keeps what its names and operators meant when it was made, and the
-- planner can still put it into the caller's statement. Settings keep it from that, so only the
-- functions that have more than one expression have a search_path of their own.

CREATE OR REPLACE FUNCTION queuekit.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN floor(extract(epoch FROM clock_timestamp()) * 1000::numeric)::bigint;

CREATE OR REPLACE FUNCTION queuekit.job_id(queue text, now_ms bigint) RETURNS uuid
LANGUAGE sql VOLATILE
RETURN (
    SELECT encode(
        substring(int8send(greatest(now_ms, 0)) FROM 3)
        || set_byte(random.bytes, 0, 112 | (get_byte(random.bytes, 0) & 15))
        || substring(sha256(convert_to(queue, 'UTF8')) FOR 2),
        'hex'
    )::uuid
    -- Bytes 7 to 14 of a random UUID: those of its version and its variant are in place.
    FROM (SELECT substring(uuid_send(gen_random_uuid()) FROM 7 FOR 8) AS bytes OFFSET 0) AS random
);

CREATE OR REPLACE FUNCTION queuekit.is_name(name text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(name COLLATE "C" ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$', false);

CREATE OR REPLACE FUNCTION queuekit.queue_name_fault(name text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN NOT queuekit.is_name(name) THEN
        format('queue must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(name, 40))
    WHEN name ~ '^(event|queuekit)[.]' THEN
        format('queue must be outside the reserved prefixes; got %L', left(name, 40))
END;

CREATE OR REPLACE FUNCTION queuekit.key_fault(field text, key text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN octet_length(convert_to(key, 'UTF8')) NOT BETWEEN 1 AND 256 THEN
    format('%s must be 1..=256 bytes; got %s', field, octet_length(convert_to(key, 'UTF8')))
END;

CREATE OR REPLACE FUNCTION queuekit.range_fault(
    field text, value bigint, lowest bigint, highest bigint
) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN value NOT BETWEEN lowest AND highest THEN
    format('%s must be %s..=%s; got %s', field, lowest, highest, value)
END;

CREATE OR REPLACE FUNCTION queuekit.to_time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT
RETURN to_timestamp(ms::double precision / 1000::double precision);

ALTER FUNCTION queuekit.metadata_fault(jsonb) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION queuekit.readable(bytea) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION queuekit.history_add_day(bigint) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION queuekit.event_add_day(bigint) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION queuekit.event_version(int) SET search_path = pg_catalog, pg_temp;

DO $do$
DECLARE
    payload_type text;
BEGIN
    FOREACH payload_type IN ARRAY '{text, json, jsonb}'::text[] LOOP
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION queuekit.enqueue(
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
            RETURN queuekit.enqueue(
                queue, kind, pg_catalog.convert_to(payload::text, 'UTF8'), priority,
                max_attempts, delay_ms, run_at, idempotency_key, unique_until_done,
                partition_key, timeout_ms, deadline_ms, metadata, notify
            )
        $create$, payload_type);
    END LOOP;
END
$do$;

-- As before, but the lane of a job is its partition key and nothing else, and a job is unique until
-- done only by a key.
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
#variable_conflict use_column
DECLARE
    year_ms CONSTANT bigint := 366 * 86400000::bigint;
    now_ms bigint := queuekit.now_ms();
    fault text;
    home queuekit.queues;
    place bigint;
    new_id uuid;
    holder uuid;
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
            WHEN unique_until_done AND idempotency_key IS NULL THEN
                'unique_until_done must be set together with an idempotency_key; got none'
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
    due := greatest(coalesce(ceil(extract(epoch FROM run_at) * 1000), now_ms + delay_ms), now_ms);
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, deadline_ms, deadline_at, queue, rank,
        max_attempts, unique_until_done, later, kind, lane, idempotency_key, metadata, payload
    ) VALUES (
        new_id, place, due, now_ms, enqueue.timeout_ms, enqueue.deadline_ms,
        now_ms + enqueue.deadline_ms, home.id, 31 - priority, enqueue.max_attempts,
        coalesce(enqueue.unique_until_done, false),
        partition_key IS NOT NULL AND due > now_ms,
        enqueue.kind, partition_key, enqueue.idempotency_key,
        nullif(enqueue.metadata, '{}')::text, enqueue.payload
    );
    IF partition_key IS NULL THEN
        INSERT INTO queuekit.ready (id, at, seq, queue, rank)
        VALUES (new_id, due, place, home.id, 31 - priority);
    ELSE
        INSERT INTO queuekit.agenda (at, queue, lane) VALUES (now_ms, home.id, partition_key);
    END IF;
    INSERT INTO queuekit.deltas (queue, pending) VALUES (home.id, 1);
    IF coalesce(notify, true) THEN
        PERFORM pg_notify('queuekit', enqueue.queue);
    END IF;
    RETURN new_id;
END
$$;
