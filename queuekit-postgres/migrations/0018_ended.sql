-- queuekit, schema version 18: completed and cancelled jobs leave their bodies where they are.
--
-- Purpose: an ack moved the whole body of its job from one table to another. Now it writes how the
-- run ended, in a narrow row, and reads the body only where an index or an idempotency key needs
-- it. Retention removes these jobs row by row, so they are no longer partitioned by days. Programs of
-- version 17 would not find them. Where another schema than `queuekit` was chosen, each `queuekit.`
-- below is replaced by it.
-- Locks: the advisory lock of migrations, and ACCESS EXCLUSIVE on jobs, running and done, for as
-- long as it takes to copy the completed and cancelled jobs and to build the indexes.

-- How a completed or cancelled job ended. A job is one of these if and only if it has a row here;
-- its body is that in jobs.
CREATE TABLE queuekit.ended (
    id uuid PRIMARY KEY,
    nonce uuid,
    finished_at bigint NOT NULL,
    started_at bigint,
    seq bigint NOT NULL,
    lease_seq bigint NOT NULL,
    queue int NOT NULL,
    -- Bytes of its payload and its result.
    size int NOT NULL,
    state smallint NOT NULL,
    attempts smallint NOT NULL,
    cancel_requested boolean NOT NULL,
    worker text,
    result bytea
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

ALTER TABLE queuekit.jobs
    -- Whether the indexes below may hold it. False once a job has ended that they held; a job that
    -- none of them holds is not touched when it completes.
    ADD COLUMN indexed boolean NOT NULL DEFAULT true;

ALTER TABLE queuekit.running
    -- No index below holds the body, and it has no idempotency key: an ack leaves it alone.
    ADD COLUMN plain boolean NOT NULL DEFAULT false,
    -- Bytes of its payload.
    ADD COLUMN size int NOT NULL DEFAULT 0;
ALTER TABLE queuekit.running ALTER COLUMN plain DROP DEFAULT, ALTER COLUMN size DROP DEFAULT;
UPDATE queuekit.running SET size = length(jobs.payload)
FROM queuekit.jobs WHERE jobs.id = running.id;

DROP INDEX queuekit.jobs_lane, queuekit.jobs_keyed, queuekit.jobs_later, queuekit.jobs_coming,
    queuekit.jobs_event, queuekit.jobs_failed;

-- A job that waits or runs takes precedence over an ended one with the same id.
WITH body AS (
    INSERT INTO queuekit.jobs (
        id, seq, scheduled_at, created_at, timeout_ms, lease_seq, deadline_ms, deadline_at,
        started_at, queue, releases, rank, attempts, max_attempts, unique_until_done, kind, lane,
        idempotency_key, worker, moved_from, metadata, errors, payload, event, indexed
    )
    SELECT
        done.id, done.seq, done.scheduled_at, done.created_at, done.timeout_ms, done.lease_seq,
        done.deadline_ms, done.deadline_at, done.started_at, done.queue, done.releases, done.rank,
        done.attempts, done.max_attempts, done.unique_until_done, done.kind, done.lane,
        done.idempotency_key, done.worker, done.moved_from, done.metadata, done.errors,
        done.payload, done.event, false
    FROM queuekit.done
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
INSERT INTO queuekit.ended (
    id, nonce, finished_at, started_at, seq, lease_seq, queue, size, state, attempts,
    cancel_requested, worker, result
)
SELECT
    done.id, done.nonce, done.finished_at, done.started_at, done.seq, done.lease_seq, done.queue,
    length(done.payload) + coalesce(length(done.result), 0), done.state, done.attempts,
    done.cancel_requested, done.worker, done.result
FROM queuekit.done
WHERE done.id IN (SELECT body.id FROM body);

CREATE INDEX ended_order ON queuekit.ended (queue, state, finished_at, seq);

CREATE INDEX jobs_lane ON queuekit.jobs (queue, lane, seq)
    WHERE indexed AND lane IS NOT NULL AND NOT later;
CREATE INDEX jobs_keyed ON queuekit.jobs (queue, rank, scheduled_at, seq)
    WHERE indexed AND lane > '';
CREATE INDEX jobs_later ON queuekit.jobs (queue, lane, seq) WHERE indexed AND later;
CREATE INDEX jobs_coming ON queuekit.jobs (queue, lane, scheduled_at) WHERE indexed AND later;
CREATE INDEX jobs_event ON queuekit.jobs (event) WHERE indexed AND event IS NOT NULL;
CREATE INDEX jobs_failed ON queuekit.jobs (queue, scheduled_at)
    WHERE indexed AND attempts > 0 AND coalesce(lane, '') = '';

-- As before, with the ends of jobs.
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
        CASE
            WHEN ended.state = 2 THEN 'completed'
            WHEN ended.state = 4 THEN 'cancelled'
            WHEN running.id IS NULL THEN 'pending'
            ELSE 'running'
        END AS state,
        jobs.rank, coalesce(ended.attempts, running.attempts, jobs.attempts) AS attempts,
        jobs.max_attempts, jobs.lane, jobs.idempotency_key, jobs.created_at, jobs.scheduled_at,
        coalesce(ended.started_at, running.started_at, jobs.started_at) AS started_at,
        ended.finished_at, jobs.deadline_at, running.lease_expires_at,
        coalesce(ended.worker, running.worker, jobs.worker) AS worker, NULL::text AS reason,
        jobs.metadata, jobs.errors, ended.result, jobs.payload, jobs.event
    FROM queuekit.jobs
    LEFT JOIN queuekit.running ON running.id = jobs.id
    LEFT JOIN queuekit.ended ON ended.id = jobs.id
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

-- As before, but the body is written only where an index or an idempotency key needs it.
CREATE OR REPLACE FUNCTION queuekit.ack(token text, result bytea DEFAULT NULL) RETURNS text
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
            SELECT
                jobs.queue,
                coalesce(
                    ended.state = 2 AND ended.nonce = parts[4]::uuid
                    AND ended.lease_seq = parts[3]::numeric, false
                ) AS is_done
            FROM queuekit.jobs
            LEFT JOIN queuekit.ended ON ended.id = jobs.id
            WHERE jobs.id = job_id
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

    -- All of it is NULL if the body is left alone.
    IF NOT held.plain THEN
        UPDATE queuekit.jobs SET indexed = false
        WHERE jobs.id = job_id
        RETURNING jobs.* INTO body;
        -- A delivery may have got a copy of its event's data meanwhile.
        held.size := length(body.payload);
    END IF;
    INSERT INTO queuekit.ended (
        id, nonce, finished_at, started_at, seq, lease_seq, queue, size, state, attempts,
        cancel_requested, worker, result
    ) VALUES (
        job_id, held.nonce, now_ms, held.started_at, held.seq, held.lease_seq, held.queue,
        held.size + coalesce(octet_length(ack.result), 0), 2, held.attempts,
        held.cancel_requested, held.worker, ack.result
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
        INSERT INTO queuekit.agenda (at, queue, lane) VALUES (now_ms, held.queue, body.lane);
    END IF;
    INSERT INTO queuekit.deltas (queue, running, completed, completed_size, ended)
    VALUES (held.queue, -1, 1, held.size + coalesce(octet_length(ack.result), 0), 1);
    RETURN 'acked';
END
$$;

-- As before. The id of an ended delivery is taken like that of one that waits.
CREATE OR REPLACE FUNCTION queuekit.store_event(
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

-- As before.
CREATE OR REPLACE FUNCTION queuekit.checkpoint(token text, name text, result bytea DEFAULT 'null')
RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    parts CONSTANT text[] := queuekit.parts_of_token(token);
    fault CONSTANT text := CASE
        WHEN NOT queuekit.is_name(checkpoint.name) THEN
            format(
                'name must be [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}; got %L', left(checkpoint.name, 40)
            )
        WHEN checkpoint.result IS NULL THEN 'result must be there; got NULL'
        WHEN octet_length(checkpoint.result) > 65536 THEN
            format('result must be at most 65536 bytes; got %s', octet_length(checkpoint.result))
    END;
    most CONSTANT bigint := 64;
    most_bytes CONSTANT bigint := 1048576;
    had record;
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING
            ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was changed.';
    END IF;
    SELECT before.count, before.bytes, before.same IS NOT NULL AS is_done
    INTO had
    FROM queuekit.put_checkpoint(
        -- No lease has a number beyond those of bigint.
        parts[2]::uuid, least(parts[3]::numeric, 9223372036854775807)::bigint, parts[4]::uuid,
        parts[1], checkpoint.name, checkpoint.result, most, most_bytes
    ) AS before;
    IF FOUND THEN
        RETURN CASE
            WHEN had.is_done THEN 'conflict'
            WHEN had.count < most AND had.bytes + octet_length(checkpoint.result) <= most_bytes THEN
                'stored'
            ELSE 'full'
        END;
    END IF;
    PERFORM FROM queuekit.jobs WHERE jobs.id = parts[2]::uuid
    UNION ALL
    SELECT FROM queuekit.dead WHERE dead.id = parts[2]::uuid;
    RETURN CASE WHEN FOUND THEN 'lease_lost' ELSE 'not_found' END;
END
$$;

-- Adds ends of runs to those of a job. Keeps the last `most_failures` failures and the last
-- `most_releases` releases; an end with a cause is a release.
CREATE FUNCTION queuekit.run_ends(
    stored jsonb, added jsonb, most_failures int, most_releases int
) RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN added IS NULL THEN stored
    ELSE (
        SELECT jsonb_agg(kept.run_end ORDER BY kept.place)
        FROM (
            SELECT
                entry.run_end, entry.place,
                row_number() OVER (
                    PARTITION BY entry.run_end ? 'cause' ORDER BY entry.place DESC
                ) AS back
            FROM jsonb_array_elements(coalesce(stored, '[]') || added)
                WITH ORDINALITY AS entry (run_end, place)
        ) AS kept
        WHERE
            kept.back
            <= CASE WHEN kept.run_end ? 'cause' THEN most_releases ELSE most_failures END
    )
END;

-- With its partitions, and those that a step of upkeep had detached but not yet dropped.
DROP TABLE queuekit.done;
DO $do$
DECLARE
    day text;
BEGIN
    FOR day IN
        SELECT format('%I.%I', space.nspname, class.relname)
        FROM pg_class AS class
        JOIN pg_namespace AS space ON space.oid = class.relnamespace
        WHERE
            space.nspname = 'queuekit' AND class.relkind = 'r'
            AND class.relname ~ '^done_[0-9]{8}$'
    LOOP
        EXECUTE 'DROP TABLE ' || day;
    END LOOP;
END
$do$;
DROP FUNCTION queuekit.history_add_day(bigint);
-- It said how long a day had to be kept.
ALTER TABLE queuekit.queues DROP COLUMN done_age_ms;
