-- queuekit, schema version 17: results of steps of jobs.
--
-- Purpose: later runs of a job read what earlier ones stored (contract R13.10), also by SQL.
-- Programs of version 16 would remove a job and leave its checkpoints. Where another schema than
-- `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.

-- The result of a step; goes with its job.
CREATE TABLE queuekit.checkpoints (
    job uuid NOT NULL,
    -- How many the job had before.
    place smallint NOT NULL,
    name text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    result bytea NOT NULL,
    PRIMARY KEY (job, name)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- Stores the result of a step of a job whose lease holds, if there is none of its name, and the job
-- has less than `most` checkpoints, and at most `most_bytes` with this one. The lease stays locked
-- until the transaction ends, so that nobody else gets the job before.
-- Answers what the job had before: how many checkpoints, with how many bytes of results, and whether
-- the result of this name is the same, NULL if there was none. No row if the lease does not hold.
CREATE FUNCTION queuekit.put_checkpoint(
    job uuid, lease_seq bigint, nonce uuid, queue text, name text, result bytea, most bigint,
    most_bytes bigint
) RETURNS TABLE (count bigint, bytes bigint, same boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Guard: only the lease that holds stores (contract R13.10).
    PERFORM FROM queuekit.running
    WHERE
        running.id = put_checkpoint.job AND running.nonce = put_checkpoint.nonce
        AND running.lease_seq = put_checkpoint.lease_seq
        AND running.queue = (
            SELECT queues.id FROM queuekit.queues WHERE queues.name = put_checkpoint.queue
        )
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- A statement of its own, so that it sees what was committed before the lease was locked.
    SELECT
        count(*), coalesce(sum(length(stored.result)), 0),
        bool_or(stored.result = put_checkpoint.result)
            FILTER (WHERE stored.name = put_checkpoint.name)
    INTO count, bytes, same
    FROM queuekit.checkpoints AS stored
    WHERE stored.job = put_checkpoint.job;
    IF same IS NULL AND count < most AND bytes + length(put_checkpoint.result) <= most_bytes THEN
        INSERT INTO queuekit.checkpoints (job, place, name, at, result)
        VALUES (
            put_checkpoint.job, put_checkpoint.count, put_checkpoint.name, queuekit.now_ms(),
            put_checkpoint.result
        );
    END IF;
    RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.put_checkpoint(
    uuid, bigint, uuid, text, text, bytea, bigint, bigint
) FROM PUBLIC;

-- Stores the result of a step in the caller's transaction: the step counts as done if and only if
-- that commits. The token is the one that the lease came with, from Rust or over HTTP. `result` is
-- what the step returned, at most 64 KiB of JSON. Answers stored, conflict (the step was done
-- before), full, lease_lost or not_found, as core has them; unless it is stored, roll back. It acts
-- as its owner: the token is the right to call it.
--
-- SQLSTATE: 22023 it is not a token, or the name or the result breaks its limit.
CREATE FUNCTION queuekit.checkpoint(token text, name text, result bytea DEFAULT 'null')
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
    SELECT FROM queuekit.done WHERE done.id = parts[2]::uuid
    UNION ALL
    SELECT FROM queuekit.dead WHERE dead.id = parts[2]::uuid;
    RETURN CASE WHEN FOUND THEN 'lease_lost' ELSE 'not_found' END;
END
$$;

REVOKE EXECUTE ON FUNCTION queuekit.checkpoint(text, text, bytea) FROM PUBLIC;

-- The same for results of other types, stored as enqueue() stores payloads of them.
DO $do$
DECLARE
    result_type text;
BEGIN
    FOREACH result_type IN ARRAY '{text, json, jsonb}'::text[] LOOP
        EXECUTE format($create$
            CREATE FUNCTION queuekit.checkpoint(token text, name text, result %s) RETURNS text
            LANGUAGE sql
            RETURN queuekit.checkpoint(token, name, pg_catalog.convert_to(result::text, 'UTF8'))
        $create$, result_type);
    END LOOP;
END
$do$;
