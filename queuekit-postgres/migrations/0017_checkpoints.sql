-- queuekit, schema version 17: results of steps of jobs.
--
-- Purpose: later runs of a job read what earlier ones stored (contract R13.10). Programs of version
-- 16 would remove a job and leave its checkpoints. Where another schema than `queuekit` was chosen,
-- each `queuekit.` below is replaced by it.
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
